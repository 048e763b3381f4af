//! The viewer: one page, one style and one script, all part of the binary.

use axum::http::{HeaderName, HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Response};

use super::answer::ApiError;
use crate::view::viewer;

fn asset(kind: &'static str, text: String) -> Response {
    let name: HeaderName = header::CONTENT_TYPE;
    ([(name, HeaderValue::from_static(kind))], text).into_response()
}

pub(super) async fn style() -> Response {
    asset("text/css; charset=utf-8", viewer::style().to_owned())
}

pub(super) async fn script() -> Response {
    asset("text/javascript; charset=utf-8", viewer::script())
}

/// The page, at every address that is not of the API.
pub(super) async fn page(method: Method, address: Uri) -> Response {
    if address.path() == "/api" || address.path().starts_with("/api/") {
        return ApiError::not_found("no such address").into_response();
    }
    if !matches!(method, Method::GET | Method::HEAD) {
        let mut response = ApiError::method_not_allowed().into_response();
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    asset("text/html; charset=utf-8", viewer::page().to_owned())
}
