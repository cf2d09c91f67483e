//! Calls about tokens, and the operator's token.

use cenote_service::token::Scope;
use serde_json::json;

use crate::client::Client;
use crate::fake::World;

#[test]
fn administrators_make_list_and_revoke_tokens() {
    let world = World::new();
    let admin = Client::bearer(&world, &world.token(&[Scope::Admin]));
    let body = json!({"name": "analyst", "scopes": ["propose", "read"], "days": 30});
    let made = admin.post("/api/v1/tokens", &body);
    assert_eq!(made.status, 201);
    let token = made.json()["token"].as_str().expect("a token").to_owned();
    let analyst = Client::bearer(&world, &token);
    assert_eq!(analyst.get("/api/v1/jobs").status, 200);
    let listed = admin.get("/api/v1/tokens");
    assert!(!listed.text.contains(&token[24..]));
    let id = token.split('_').nth(1).expect("a name");
    let listed = listed.json();
    let found = listed
        .as_array()
        .expect("tokens")
        .iter()
        .find(|token| token["id"] == id)
        .expect("listed");
    assert_eq!(found["scopes"], json!(["propose", "read"]));
    assert!(found["expires_at"].as_u64() > Some(0));
    let path = format!("/api/v1/tokens/{id}");
    assert_eq!(admin.call("DELETE", &path, None).status, 204);
    assert_eq!(admin.call("DELETE", &path, None).refusal().0, 404);
    assert_eq!(analyst.get("/api/v1/jobs").refusal(), (401, "no-token".into()));
    let nameless = admin.post("/api/v1/tokens", &json!({"name": "", "scopes": ["read"]}));
    assert_eq!(nameless.refusal(), (422, "bad-token-text".into()));
}

#[test]
fn the_operators_token_lies_in_the_folder_and_is_made_anew_when_it_is_not_valid() {
    use std::os::unix::fs::PermissionsExt;

    let mut world = World::new();
    let folder = world.database.folder().path().to_owned();
    let token = cenote_api::read_operator_token(&folder).expect("there");
    let mode = folder
        .join(cenote_api::OPERATOR_TOKEN)
        .metadata()
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(Client::bearer(&world, &token).get("/api/v1/tokens").status, 200);
    world.serve_again();
    assert_eq!(*cenote_api::read_operator_token(&folder).expect("there"), *token);
    let id = token.split('_').nth(1).expect("a name").to_owned();
    let client = Client::bearer(&world, &token);
    assert_eq!(
        client
            .call("DELETE", &format!("/api/v1/tokens/{id}"), None)
            .status,
        204
    );
    world.serve_again();
    let fresh = cenote_api::read_operator_token(&folder).expect("there");
    assert_ne!(*fresh, *token);
    assert_eq!(Client::bearer(&world, &fresh).get("/api/v1/tokens").status, 200);
    // The link of the operator's page works.
    let link = world.served().login().expect("made");
    let (page, login) = link.split_once('#').expect("two parts");
    assert_eq!(page, format!("{}/", world.url()));
    let browser = Client::new(&world).with("origin", &world.url());
    let begun = browser.post("/api/v1/session", &json!({"login": login}));
    let cookie = begun.headers["set-cookie"].to_str().expect("text");
    let csrf = begun.json()["csrf"].as_str().expect("a secret").to_owned();
    let session = browser
        .with("cookie", cookie.split(';').next().expect("a cookie"))
        .with("x-csrf-token", &csrf);
    assert_eq!(session.get("/api/v1/tokens").status, 200);
    // What was begun with the operator's token ends with it.
    let waiting = world.served().login().expect("made");
    let id = fresh.split('_').nth(1).expect("a name");
    let revoked = Client::bearer(&world, &fresh).call("DELETE", &format!("/api/v1/tokens/{id}"), None);
    assert_eq!(revoked.status, 204);
    assert_eq!(session.get("/api/v1/tokens").status, 401);
    let (_, login) = waiting.split_once('#').expect("two parts");
    let late = Client::new(&world).with("origin", &world.url());
    assert_eq!(late.post("/api/v1/session", &json!({"login": login})).status, 401);
    assert!(world.served().login().is_err());
}
