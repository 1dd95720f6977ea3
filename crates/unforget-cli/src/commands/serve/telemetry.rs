//! The targets of a daemon's log and traces.

use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};
use unforget_gateway::trace::TARGET;

use crate::config::process_env;
use crate::failure::Outcome;
use crate::output::{LogLines, is_log_on_terminal};

/// OpenTelemetry's variables that name a collector.
const COLLECTOR: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// The log and traces of a running daemon. Dropping it sends the last traces.
pub(crate) struct Telemetry {
    #[allow(dead_code, reason = "ends when it is dropped")]
    traces: Option<otel::Traces>,
}

impl Telemetry {
    /// Starts the log on stderr, with a level from `UNFORGET_LOG`, and sends traces to the collector named in
    /// OpenTelemetry's variables, if any.
    ///
    /// * `level` - default level of the log.
    ///
    /// # Errors
    /// If the collector's address is invalid. Call it outside of a runtime: inside, it would wait for ever.
    pub(crate) fn begin(is_json: bool, level: &str) -> Outcome<Self> {
        let filter = EnvFilter::try_from_env("UNFORGET_LOG").unwrap_or_else(|_| EnvFilter::new(level));
        let log = tracing_subscriber::fmt::layer().with_writer(|| LogLines);
        let log = if is_json {
            log.json().boxed()
        } else {
            log.with_ansi(is_log_on_terminal()).with_target(false).boxed()
        };
        let log = log.with_filter(filter.and(filter_fn(|meta| meta.target() != TARGET)));
        let asked = collector();
        let (traces, layer) = if asked.is_some() { otel::begin()?.unzip() } else { (None, None) };
        let layer = layer.map(|layer| layer.with_filter(filter_fn(|meta| meta.target() == TARGET)));
        // Fails only if a log is installed already, which serves as well.
        Registry::default().with(layer).with(log).try_init().ok();
        if let (Some(collector), None) = (asked, &traces) {
            tracing::warn!(collector, "this build has no OpenTelemetry: no traces are sent");
        }
        Ok(Self { traces })
    }
}

/// The collector of traces, if any.
fn collector() -> Option<String> {
    let is = |name: &str, off: &str| process_env(name).is_some_and(|value| value.eq_ignore_ascii_case(off));
    let named = COLLECTOR.iter().find_map(|name| process_env(name)).filter(|named| !named.is_empty());
    named.filter(|_| !is("OTEL_SDK_DISABLED", "true") && !is("OTEL_TRACES_EXPORTER", "none"))
}

/// A layer of any type, the first on its registry.
type Any = Box<dyn Layer<Registry> + Send + Sync>;

#[cfg(feature = "otel")]
mod otel {
    use opentelemetry::global::set_text_map_propagator;
    use opentelemetry::trace::TracerProvider;
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use unforget_gateway::install_crypto;

    use super::{Any, COLLECTOR, Layer, Outcome, process_env};
    use crate::failure::Failure;

    /// The sender of traces, on a separate thread.
    pub(super) struct Traces(SdkTracerProvider);

    pub(super) fn begin() -> Outcome<Option<(Traces, Any)>> {
        install_crypto();
        let exporter = SpanExporter::builder().with_http().build().map_err(|error| {
            let hint = "set it to the address of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318";
            Failure::input("telemetry", format!("{} names no collector: {error}", COLLECTOR.join(" or ")), hint)
        })?;
        let resource = Resource::builder()
            .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        let named = process_env("OTEL_SERVICE_NAME").or_else(|| process_env("OTEL_RESOURCE_ATTRIBUTES"));
        let resource = if named.is_some() { resource } else { resource.with_service_name("unforget") };
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        set_text_map_propagator(TraceContextPropagator::new());
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("unforget"))
            .with_location(false)
            .with_threads(false);
        Ok(Some((Traces(provider), layer.boxed())))
    }

    impl Drop for Traces {
        fn drop(&mut self) {
            if let Err(error) = self.0.shutdown() {
                tracing::warn!(%error, "the last traces were not sent");
            }
        }
    }
}

#[cfg(not(feature = "otel"))]
mod otel {
    use super::{Any, Outcome};

    pub(super) struct Traces;

    #[allow(clippy::unnecessary_wraps, reason = "as where there is OpenTelemetry")]
    pub(super) const fn begin() -> Outcome<Option<(Traces, Any)>> {
        Ok(None)
    }
}
