//! The form of every answer of the API: `success`, `data` and `error`.

use std::borrow::Cow;

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

/// An answer that was found.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Envelope<T> {
    /// Always true.
    success: bool,
    /// The requested resource.
    data: T,
    /// Always null.
    #[schema(value_type = Option<Object>)]
    error: Option<ErrorBody>,
}

/// An answer that was not.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorEnvelope {
    /// Always false.
    success: bool,
    /// Always null.
    #[schema(value_type = Option<Object>)]
    data: Option<()>,
    /// Why.
    error: ErrorBody,
}

/// Why there is no answer.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorBody {
    /// For programs.
    code: &'static str,
    /// For people.
    message: Cow<'static, str>,
}

pub(super) struct Data<T>(pub(super) T);

pub(super) type ApiAnswer<T> = Result<Data<T>, ApiError>;

impl<T: Serialize> IntoResponse for Data<T> {
    fn into_response(self) -> Response {
        axum::Json(Envelope { success: true, data: self.0, error: None }).into_response()
    }
}

#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    message: Cow<'static, str>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, message: message.into() }
    }

    /// It does not exist.
    pub(super) fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// The request cannot be read.
    pub(super) fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The request can be read and makes no sense.
    pub(super) fn unprocessable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// It may not be.
    pub(super) fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// Something else is under way.
    pub(super) fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    /// What was read before is not what is there now.
    pub(super) fn outdated(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, message)
    }

    /// The address has no such method.
    pub(super) fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this address does not support the method")
    }

    /// The body is too large.
    pub(super) fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 2 MiB")
    }

    /// It went wrong here.
    pub(super) fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// This went wrong here.
    #[expect(clippy::needless_pass_by_value, reason = "it is the end of an error")]
    pub(super) fn failed(error: impl ToString) -> Self {
        Self::internal(error.to_string())
    }

    /// For people.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// For programs.
    pub(crate) fn code(&self) -> &'static str {
        match self.status {
            StatusCode::NOT_FOUND => "NOT_FOUND",
            StatusCode::BAD_REQUEST => "BAD_REQUEST",
            StatusCode::UNPROCESSABLE_ENTITY => "UNPROCESSABLE",
            StatusCode::PAYLOAD_TOO_LARGE => "TOO_LARGE",
            StatusCode::UNAUTHORIZED => "UNAUTHORIZED",
            StatusCode::FORBIDDEN => "FORBIDDEN",
            StatusCode::METHOD_NOT_ALLOWED => "METHOD_NOT_ALLOWED",
            StatusCode::CONFLICT => "CONFLICT",
            StatusCode::PRECONDITION_FAILED => "PRECONDITION_FAILED",
            _ => "INTERNAL",
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = ErrorBody { code: self.code(), message: self.message };
        let envelope = ErrorEnvelope { success: false, data: None, error };
        (self.status, axum::Json(envelope)).into_response()
    }
}

pub(super) struct AddressNames<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for AddressNames<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Path::<T>::from_request_parts(parts, state).await;
        let unread =
            |why| ApiError::bad_request(format!("the address cannot be read: {}", reason(&why)));
        read.map(|Path(names)| Self(names)).map_err(unread)
    }
}

pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        let unread =
            |why| ApiError::bad_request(format!("the query cannot be read: {}", reason(&why)));
        read.map(|Query(params)| Self(params)).map_err(unread)
    }
}

/// The words of the innermost error.
fn reason(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// A body that is JSON. The middleware has read it whole.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        match axum::Json::<T>::from_request(request, state).await {
            Ok(axum::Json(body)) => Ok(Self(body)),
            Err(JsonRejection::JsonDataError(error)) => Err(ApiError::unprocessable(format!(
                "the body is not as it should be: {}",
                reason(&error)
            ))),
            Err(JsonRejection::MissingJsonContentType(_)) => Err(ApiError::bad_request(
                "the body must be JSON, with `Content-Type: application/json`",
            )),
            Err(rejection) => {
                Err(ApiError::bad_request(format!("the body is not JSON: {}", reason(&rejection))))
            }
        }
    }
}

/// Which part of a list.
#[derive(Clone, Copy, Debug, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct ListPage {
    /// How many at most.
    #[param(minimum = 0, maximum = 500, default = 50)]
    pub limit: usize,
    /// How many are passed over.
    #[param(minimum = 0, maximum = 4_294_967_295_u32, default = 0)]
    pub skip: usize,
}

impl Default for ListPage {
    fn default() -> Self {
        Self { limit: 50, skip: 0 }
    }
}

impl ListPage {
    /// This part of a list.
    pub(crate) fn of<T>(self, all: impl IntoIterator<Item = T>) -> Result<Vec<T>, ApiError> {
        Ok(all.into_iter().skip(self.skip).take(self.checked()?.limit).collect())
    }

    /// The page, if it may be that large.
    pub(super) fn checked(self) -> Result<Self, ApiError> {
        if self.limit > 500 {
            return Err(ApiError::bad_request("`limit` is at most 500"));
        }
        if u32::try_from(self.skip).is_err() {
            return Err(ApiError::bad_request(format!("`skip` is at most {}", u32::MAX)));
        }
        Ok(self)
    }
}
