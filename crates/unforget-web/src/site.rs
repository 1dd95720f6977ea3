//! The addresses of all views.

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, Request};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use unforget_engine::EngineError;
use unforget_gateway::{OWNER, Tenant};
use unforget_server::api::engine_of;
use unforget_server::serve::MayDecide;
use unforget_server::when::Clock;

use crate::reply::{Trouble, Viewed, answer, trouble_page};
use crate::state::Site;
use crate::visit::{Query, Visit};
use crate::{
    assets, calls, context, conversations, diff, home, ledger, left, login, reader, search, summaries, today,
    trust,
};

type View = fn(&Visit) -> Viewed;

impl Site {
    /// The routes: `/`, and everything under `/web/`.
    pub fn routes(self: &Arc<Self>) -> Router {
        let to = |view: View| self.view(view);
        let of = |rest: &str| format!("/web/c/{{name}}{rest}");
        Router::new()
            .route("/", to(home::show))
            .route("/web", to(home::show))
            .route("/web/conversations", to(conversations::list))
            .route("/web/search", to(search::show))
            .route("/web/calls", to(calls::show))
            .route("/web/today", to(today::show))
            .route("/web/trust", to(trust::trust))
            .route("/web/settings", to(trust::settings))
            .route(&of(""), to(reader::show))
            .route(&of("/entry/{seq}"), to(reader::entry))
            .route(&of("/context"), to(context::show))
            .route(&of("/prompt"), to(context::body))
            .route(&of("/left"), to(left::show))
            .route(&of("/diff"), to(diff::show))
            .route(&of("/summaries"), to(summaries::show))
            .route(&of("/ledger"), to(ledger::show))
            .route(&of("/decisions"), self.decisions())
            .route("/web/assets/{file}", get(assets::serve))
            .route("/web/login", get(login::show).post(self.enter()))
            .route("/web/logout", post(login::leave))
            .route("/web/{*rest}", to(nowhere))
    }

    fn view(self: &Arc<Self>, view: View) -> MethodRouter {
        let site = Arc::clone(self);
        get(move |names: RawPathParams, request: Request| Arc::clone(&site).visited(view, names, request))
    }

    fn decisions(self: &Arc<Self>) -> MethodRouter {
        let site = Arc::clone(self);
        post(move |names: RawPathParams, request: Request| Arc::clone(&site).decided(names, request))
    }

    fn enter(self: &Arc<Self>) -> MethodRouter {
        let is_secure = self.settings.is_secure;
        post(move |request: Request| login::enter(request, is_secure))
    }

    /// The visit of a request; `None` if its tenant's engine cannot be opened.
    pub(crate) fn visit(
        self: &Arc<Self>,
        names: &RawPathParams,
        request: &Request,
    ) -> Result<Visit, EngineError> {
        let tenant = request.extensions().get::<Tenant>().map_or(OWNER.into(), |one| Arc::clone(&one.0));
        let may_decide = request.extensions().get::<MayDecide>().is_some();
        let uri = request.uri();
        let is_owner = &*tenant == OWNER;
        let engine = engine_of(&self.engine, &tenant)?;
        Ok(Visit {
            site: Arc::clone(self),
            may_decide: is_owner && may_decide && engine.is_writer(),
            engine,
            is_owner,
            path: uri.path().to_owned(),
            query: Query::parse(uri.query().unwrap_or_default()),
            clock: Clock::here(),
            names: names.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        })
    }

    async fn visited(self: Arc<Self>, view: View, names: RawPathParams, request: Request) -> Response {
        let Ok(_turn) = self.at_work.acquire().await else { return answer(Err(Trouble::ours())) };
        let site = Arc::clone(&self);
        let made = tokio::task::spawn_blocking(move || {
            let visit = match site.visit(&names, &request) {
                Ok(visit) => visit,
                Err(error) => return answer(Err(error.into())),
            };
            match view(&visit) {
                Err(trouble) => answer(Ok(trouble_page(&trouble, &visit))),
                made => answer(made),
            }
        });
        made.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a view failed");
            answer(Err(Trouble::ours()))
        })
    }
}

/// Every other address.
fn nowhere(visit: &Visit) -> Viewed {
    Err(Trouble::new(404, format!("there is no view at {}", visit.path), "the views are named above"))
}
