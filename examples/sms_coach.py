"""A coach by SMS, who answers, and writes first when a plan is due."""

from urllib.parse import quote

from stack import URL, local, sign_in

TENANT, LINE, PHONE = "example-coach", "+15005550051", "+15005550151"


def main(url: str = URL) -> list[str]:
    """Text the coach, wait a day, and return the SMS that the phone received."""
    operator = sign_in(TENANT, "operator", "Operator", "chat admin", url)
    coach = operator.call(
        "POST",
        "/v1/agents",
        {
            "name": "Pace",
            "system_prompt": "You are Pace, a running coach. Answer in one or two sentences.",
            "reply_mode": "text",
        },
    )
    operator.call("POST", "/v1/lines", {"phone": LINE, "agent_id": coach["id"]})
    local("sms", {"from": PHONE, "to": LINE, "body": "How far should I run today?"}, url)
    local("drain", {}, url)

    [person] = operator.call("GET", "/v1/users", query={"phone": PHONE})["items"]
    plan = {
        "name": "Tomorrow",
        "instruction": "Ask how the run was.",
        "run_after": "1 day",
        "user_id": person["id"],
    }
    path = f"/v1/agents/{coach['id']}/plans"
    operator.call("POST", path, plan, {"reason": "Showing an example"})
    local("clock", {"advance_seconds": 86_460}, url)
    local("drain", {}, url)
    return [sms["body"] for sms in local(f"sms?to={quote(PHONE)}", url=url)["items"]]


if __name__ == "__main__":
    print(*main(), sep="\n")
