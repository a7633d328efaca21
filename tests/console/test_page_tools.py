"""The page Tools: make a tool by each of its sources, try it, and approve those of a server."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.console.driver import HOSTILE, Driver
from tests.support.mcp_server import SHOP, shop

CURL = r"""curl -X POST 'http://127.0.0.1:9/orders/1234/notes?lang=en' \
  -H 'Authorization: Bearer secret' -H 'X-Shop: main' --json '{"text": "late", "copies": 2}'"""
OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "servers": [{"url": "https://shop.example/v1"}],
    "paths": {
        "/orders/{order}": {
            "parameters": [
                {"name": "order", "in": "path", "required": True, "schema": {"type": "string"}}
            ],
            "get": {"operationId": "getOrder", "summary": f"Look up an order. {HOSTILE}"},
            "put": {
                "operationId": "changeOrder",
                "summary": "Change an order.",
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/O"}}}
                },
            },
        }
    },
    "components": {
        "schemas": {"O": {"properties": {"seats": {"type": "integer"}}, "required": ["seats"]}}
    },
}


@pytest.mark.parametrize("source", ["A form", "A cURL command", "An OpenAPI document"])
def test_tool_is_made_from_a_form_a_command_or_a_document(driver: Driver, source: str) -> None:
    page, token = driver.page, driver.operator()
    driver.open_as_operator("#/tools")
    page.get_by_label("Make it from").select_option(label=source)
    name = "console_made"
    expected: dict[str, Any] = {
        "method": "GET",
        "url": "https://shop.example/orders",
        "headers": {},
    }
    if source == "A cURL command":
        page.get_by_label("The command").fill(CURL)
        page.get_by_role("button", name="Read it").click()
        url = "http://127.0.0.1:9/orders/{order}/notes?lang={lang}"
        expected = {"method": "POST", "url": url, "headers": {"X-Shop": "main"}}
    elif source == "An OpenAPI document":
        page.get_by_label("The document").fill(json.dumps(OPENAPI))
        page.get_by_role("button", name="Read it").click()
        operation = page.get_by_label("Operation")
        expect(page.get_by_label("Name", exact=True)).to_have_value("get_order")
        operation.select_option(label="PUT https://shop.example/v1/orders/{order}")
        expected = {"method": "PUT", "url": "https://shop.example/v1/orders/{order}", "headers": {}}
    else:
        page.get_by_label("Address").fill(expected["url"])
        page.get_by_label("Method").select_option("POST")
        expect(page.get_by_label("Effect of a call")).to_have_value("write")
        page.get_by_label("Method").select_option("GET")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("What the model reads").fill(HOSTILE)
    driver.check_looks()
    page.get_by_role("button", name="Create the tool").click()
    expect(page.get_by_text("shown only once")).to_be_visible()
    found = driver.client.ok("GET", f"/v1/tools/{name}", token=token)
    assert found["http"] == expected
    assert found["effect"] == ("read" if expected["method"] == "GET" else "write")
    arguments = {
        "A form": [],
        "A cURL command": ["copies", "lang", "order", "text"],
        "An OpenAPI document": ["order", "seats"],
    }
    assert sorted(found["parameters"]["properties"]) == arguments[source]
    assert sorted(found["parameters"]["required"]) == arguments[source]
    driver.check_inert()
    expect(page.locator(".tool").filter(has_text=name)).to_contain_text("tokens of each request")
    page.get_by_role("button", name=f"Delete the tool {name}").click()
    expect(page.get_by_role("heading", name=name)).to_have_count(0)


def test_text_that_cannot_be_read_is_refused_with_a_sentence(driver: Driver) -> None:
    page = driver.page
    driver.open_as_operator("#/tools")
    page.get_by_label("Make it from").select_option(label="A cURL command")
    page.get_by_label("The command").fill("wget https://shop.example")
    page.get_by_role("button", name="Read it").click()
    expect(page.get_by_text("This is no cURL command")).to_be_visible()


def test_server_is_added_by_its_address(driver: Driver) -> None:
    page = driver.page
    driver.open_as_operator("#/tools")
    page.get_by_label("Make it from").select_option(label="An MCP server")
    page.get_by_label("Name", exact=True).fill("console_server")
    page.get_by_label("Address of the server").fill("https://shop.example/mcp")
    page.get_by_role("button", name="Create the tool").click()
    expect(page.get_by_role("heading", name="console_server")).to_be_visible()
    page.get_by_role("button", name="Delete the tool console_server").click()
    expect(page.get_by_role("heading", name="console_server")).to_have_count(0)


def test_tools_of_a_server_are_approved_one_by_one_and_tried(driver: Driver) -> None:
    token = driver.operator()
    with shop() as server:
        mcp = {"url": f"http://127.0.0.1:{server.port}/mcp"}
        driver.client.ok(
            "POST", "/v1/tools", SHOP | {"name": "console_shop", "mcp": mcp}, token=token
        )
        driver.open_as_operator("#/tools")
        page = driver.page
        page.get_by_text("Tools offered by the server").press("Enter")
        offered = page.locator("section").filter(
            has=page.get_by_role("heading", name="console_shop__order_status")
        )
        expect(offered.last).to_contain_text("Not approved yet. Agents can't call it")
        expect(offered.last).to_contain_text("According to the server, it only reads")
        expect(offered.last.get_by_label("Effect of a call")).to_have_value("write")
        offered.last.get_by_label("Effect of a call").select_option("read")
        offered.last.get_by_role("button", name="Approve for agents").press("Enter")
        expect(offered).to_have_count(0)
        page.get_by_text("Tools offered by the server").press("Enter")
        offered.last.get_by_text("Test", exact=True).press("Enter")
        offered.last.get_by_label("Arguments").fill('{"order": "17"}')
        offered.last.get_by_role("button", name="Call as yourself").press("Enter")
        expect(offered.last).to_contain_text("17 is on its way")
        expect(offered.last).to_contain_text("Reads, enabled")
        driver.check_looks()
    driver.client.ok("DELETE", "/v1/tools/console_shop", token=token)


def test_tool_of_the_tenant_is_tried_with_arguments(driver: Driver) -> None:
    driver.open_as_operator("#/tools")
    page = driver.page
    own = page.locator("section").filter(has=page.get_by_role("heading", name="gym_hours")).last
    own.locator("summary").press("Enter")
    own.get_by_label("Arguments (JSON)").fill('{"day": "sunday"}')
    own.get_by_role("button", name="Call as yourself").click()
    expect(own.locator("pre")).to_contain_text("| On Sunday, the gym is open from 9 to 17.")
