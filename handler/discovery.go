package handler

import (
	"net/http"

	"github.com/hermesfake/hermesfake/canon"
)

// The provider whose contract this is.
const (
	platform        = "hermes-agent"
	upstreamVersion = "0.21.0"
)

// Version is the version of hermesfake, as the x-mockingbird header gives it.
const Version = "0.1.0"

// health is GET /health and /v1/health.
func (h *Handler) health() *Reply {
	return providerJSON(http.StatusOK, []byte(`{"status": "ok", "platform": "`+platform+`", "version": "`+upstreamVersion+`"}`))
}

// models is GET /v1/models.
func (h *Handler) models(c *Call) *Reply {
	model := canon.String(h.engine.Model())
	return providerJSON(http.StatusOK, canon.AppendWire(nil, canon.Object{
		{Name: "object", Value: canon.String("list")},
		{Name: "data", Value: canon.Array{canon.Object{
			{Name: "id", Value: model},
			{Name: "object", Value: canon.String("model")},
			{Name: "created", Value: canon.IntOf(c.space.engine.Now().Unix())},
			{Name: "owned_by", Value: canon.String("hermes")},
			{Name: "permission", Value: canon.Array{}},
			{Name: "root", Value: model},
			{Name: "parent", Value: canon.Null{}},
		}}},
	}))
}

// features are those that clients ask for, in the provider's order. What this
// emulator does not serve is false.
func (h *Handler) features() canon.Object {
	yes, no := canon.Bool(true), canon.Bool(false)
	return canon.Object{
		{Name: "chat_completions", Value: no},
		{Name: "chat_completions_streaming", Value: no},
		{Name: "responses_api", Value: no},
		{Name: "responses_streaming", Value: no},
		{Name: "run_submission", Value: yes},
		{Name: "runs_idempotency", Value: canon.Object{
			{Name: "supported", Value: yes},
			{Name: "durable", Value: canon.Bool(h.engine.Durable())},
			{Name: "retention_seconds", Value: canon.IntOf(86400)},
		}},
		{Name: "run_status", Value: yes},
		{Name: "run_events_sse", Value: yes},
		{Name: "run_stop", Value: yes},
		{Name: "run_steer", Value: yes},
		{Name: "run_approval_response", Value: yes},
		{Name: "tool_progress_events", Value: yes},
		{Name: "approval_events", Value: yes},
		{Name: "session_resources", Value: no},
		{Name: "model_options", Value: no},
		{Name: "session_chat", Value: no},
		{Name: "session_chat_streaming", Value: no},
		{Name: "session_fork", Value: no},
		{Name: "session_model_lock", Value: no},
		{Name: "admin_config_rw", Value: no},
		{Name: "jobs_admin", Value: no},
		{Name: "memory_write_api", Value: no},
		{Name: "skills_api", Value: no},
		{Name: "audio_api", Value: no},
		{Name: "realtime_voice", Value: no},
		{Name: "session_continuity_header", Value: canon.String("X-Hermes-Session-Id")},
		{Name: "session_key_header", Value: canon.String("X-Hermes-Session-Key")},
		{Name: "cors", Value: canon.Bool(len(h.origins) > 0)},
	}
}

// endpoints are the routes that capabilities names, which clients compare literally.
var endpoints = [...]struct{ name, method, path string }{
	{"health", "GET", "/health"},
	{"models", "GET", "/v1/models"},
	{"runs", "POST", "/v1/runs"},
	{"run_status", "GET", "/v1/runs/{run_id}"},
	{"run_events", "GET", "/v1/runs/{run_id}/events"},
	{"run_approval", "POST", "/v1/runs/{run_id}/approval"},
	{"run_steer", "POST", "/v1/runs/{run_id}/steer"},
	{"run_stop", "POST", "/v1/runs/{run_id}/stop"},
}

// capabilities is GET /v1/capabilities.
func (h *Handler) capabilities(c *Call) *Reply {
	var paths canon.Object
	for _, e := range endpoints {
		paths = append(paths, canon.Member{Name: e.name, Value: canon.Object{
			{Name: "method", Value: canon.String(e.method)},
			{Name: "path", Value: canon.String(e.path)},
		}})
	}
	return providerJSON(http.StatusOK, canon.AppendWire(nil, canon.Object{
		{Name: "object", Value: canon.String("hermes.api_server.capabilities")},
		{Name: "platform", Value: canon.String(platform)},
		{Name: "model", Value: canon.String(h.engine.Model())},
		{Name: "auth", Value: canon.Object{
			{Name: "type", Value: canon.String("bearer")},
			{Name: "required", Value: canon.Bool(c.profile.key.set)},
		}},
		{Name: "runtime", Value: canon.Object{
			{Name: "mode", Value: canon.String("server_agent")},
			{Name: "tool_execution", Value: canon.String("server")},
			{Name: "split_runtime", Value: canon.Bool(false)},
			{Name: "description", Value: canon.String("The API server creates a server-side Hermes AIAgent; " +
				"tools execute on the API-server host unless a future explicit split-runtime mode is enabled.")},
		}},
		{Name: "features", Value: h.features()},
		{Name: "endpoints", Value: paths},
	}))
}
