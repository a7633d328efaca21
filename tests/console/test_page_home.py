"""The page Home: status, use, agents at work, and waiting work."""

from datetime import UTC, datetime, timedelta

from playwright.sync_api import Route, expect

from tests.console.driver import HOSTILE, Driver, answered_chat


def test_home_shows_status_use_and_lines(driver: Driver) -> None:
    driver.open_as_operator("#/home")
    main = driver.page.locator("main")
    expect(main).to_contain_text("The model gpt-4.1-mini is responding.")
    expect(main).to_contain_text("Live updates are on.")
    expect(main).to_contain_text("+15005550006: answered by Coach")
    expect(main.locator("dt")).to_have_text(
        ["Model responses", "Input tokens", "Cached input", "Output tokens", "SMS", "Cost"]
    )


def test_home_shows_how_far_the_clock_is_ahead(driver: Driver) -> None:
    def turn(route: Route) -> None:
        body = route.fetch().json()
        now = datetime.now(UTC) + timedelta(days=2, minutes=1)
        route.fulfill(json={**body, "now": now.isoformat()})

    driver.page.route("**/v1/system", turn)
    driver.open_as_operator("#/home")
    expect(driver.page.locator("main")).to_contain_text("2 days 1 min ahead of this computer")


def test_home_shows_what_is_paused(driver: Driver) -> None:
    token = driver.client.token("operator", "chat admin")
    driver.client.ok("PUT", "/v1/pauses/background", token=token)
    try:
        driver.open_as_operator("#/home")
        paused = driver.page.locator("main .bad")
        expect(paused.last).to_have_text("Summaries and memories are paused.")
    finally:
        driver.client.ok("DELETE", "/v1/pauses/background", token=token)


def test_home_shows_waiting_work_and_the_queues_of_the_machine(driver: Driver) -> None:
    client, token = driver.client, driver.operator()
    [agent, *_] = client.ok("GET", "/v1/agents", token=token)["items"]
    plan = {"name": "Later", "instruction": "Say hello", "run_after": "2 hours"}
    path = f"/v1/agents/{agent['id']}/plans"
    made = client.ok("POST", path, plan, token=token)
    try:
        rows = client.ok("GET", "/v1/system/backlog", token=token)["items"]
        [later] = [row["later"] for row in rows if row["kind"] == "plan"]
        driver.open_as_operator("#/home")
        work = driver.page.get_by_role("region", name="Backlog")
        assert later >= 1
        expect(work.locator("tr", has_text="Plans").locator("td").first).to_have_text(f"{later}")
        expect(driver.page.locator("main")).to_contain_text("Local queues")
        driver.check_looks()
    finally:
        client.ok("DELETE", f"{path}/{made['id']}", token=token)


def test_home_lists_open_work_for_the_team_first(driver: Driver) -> None:
    client, token, page = driver.client, driver.operator(), driver.page
    chat, agent = answered_chat(client, ["Hello"], person="parcel-ann")
    path = f"/v1/chats/{chat}/desk?reason=The+complaint+4711"
    client.ok("POST", path, {}, token=token)
    now = datetime.now(UTC)
    error = {"run_id": "run_x", "agent_id": agent, "reason": None, "meaning": HOSTILE}
    call = {"id": "apr_x", "agent_id": agent, "tool": "book_table", "private": True}

    def failed(route: Route) -> None:
        body = route.fetch().json()
        route.fulfill(json={**body, "last_error": {**error, "at": body["now"], "error": None}})

    def overdue(route: Route) -> None:
        row = {"kind": "run", "later": 0, "due": 3, "overdue": 3, "complete": True}
        body = {"now": now.isoformat(), "items": [{**row, "oldest_due_at": now.isoformat()}]}
        route.fulfill(json=body)

    page.route("**/v1/system", failed)
    page.route("**/v1/system/backlog", overdue)
    waiting = [{**call, "id": f"apr_{n}", "created_at": now.isoformat()} for n in range(7)]
    page.route("**/v1/approvals", lambda route: route.fulfill(json={"items": waiting}))
    driver.open_as_operator("#/home")
    first = page.locator("main .card").first
    expect(first.locator("h2")).to_have_text("Needs you")
    expect(first.locator(f'a[href="#/desk/{chat}"]')).to_contain_text("waits for a person")
    expect(first).to_contain_text("Coach asks to call book_table")
    expect(first).to_contain_text("2 more")
    expect(first).to_contain_text(f"A run of Coach failed. {HOSTILE}")
    expect(first).to_contain_text("Runs that are overdue by five minutes: 3")
    driver.check_inert()
    driver.check_looks()
    client.ok("DELETE", f"/v1/chats/{chat}/desk", {"dismiss": True}, token=token)


def test_home_needs_the_scope_admin(driver: Driver) -> None:
    driver.client.ok("GET", "/v1/me", token=driver.client.token("mia"))
    driver.open("#/home")
    driver.page.locator("main").get_by_role("button", name="Sign in").click()
    driver.page.get_by_label("Another person").fill("Mia")
    driver.page.locator("form .row button").click()
    driver.ready()
    expect(driver.page.locator("main")).to_contain_text("requires the scope support")
