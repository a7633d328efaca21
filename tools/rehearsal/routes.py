"""The routes of the HTTP API, which the emulator does not take from the API's definition."""

from typing import Any

from local.template import Template


def create(client: Any, template: Template, arns: dict[str, str], *, issuer: str, aud: str) -> int:
    """Create the template's routes and their JWT authorizer in the emulator.

    Args:
        client: A client of `apigatewayv2`.
        template: The template.
        arns: The ARNs of the functions by handler.
        issuer: The issuer of tokens.
        aud: The audience of tokens.

    Returns:
        The number of routes.
    """
    [api] = [each for each in client.get_apis()["Items"] if each["ProtocolType"] == "HTTP"]
    key = api["ApiId"]
    authorizer = client.create_authorizer(
        ApiId=key,
        Name="Jwt",
        AuthorizerType="JWT",
        IdentitySource=["$request.header.Authorization"],
        JwtConfiguration={"Issuer": issuer, "Audience": [aud]},
    )["AuthorizerId"]
    authorized = {"AuthorizationType": "JWT", "AuthorizerId": authorizer}
    made = 0
    for function in template.functions:
        if not function.routes:
            continue
        integration = client.create_integration(
            ApiId=key,
            IntegrationType="AWS_PROXY",
            IntegrationUri=arns[function.handler],
            PayloadFormatVersion="2.0",
        )["IntegrationId"]
        for route in function.routes:
            client.create_route(
                ApiId=key,
                RouteKey=f"{route.method} {route.path}",
                Target=f"integrations/{integration}",
                **(authorized if route.authorized else {"AuthorizationType": "NONE"}),
            )
            made += 1
    return made
