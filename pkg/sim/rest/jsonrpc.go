package rest

import (
	"encoding/json"
	"io"
	"net/http"
)

// The JSON-RPC form of vAPI, which the Automation SDKs of Python and Java use: every call is a POST to /api. Values are wrapped in
// the names of their types. Only the service of sessions is here; the answer for another service is operation_not_found.

// sessionService is the service of sessions.
const sessionService = "com.vmware.cis.session"

// The ways to authenticate.
const (
	schemePassword = "com.vmware.vapi.std.security.user_pass"
	schemeSession  = "com.vmware.vapi.std.security.session_id"
)

// invocation is a call.
type invocation struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Service   string `json:"serviceId"`
		Operation string `json:"operationId"`
		Context   struct {
			Security struct {
				Scheme   string `json:"schemeId"`
				User     string `json:"userName"`
				Password string `json:"password"`
				Session  string `json:"sessionId"`
			} `json:"securityCtx"`
		} `json:"ctx"`
	} `json:"params"`
}

// jsonRPCError is an error of the protocol: the call is not one.
type jsonRPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// invoke answers a JSON-RPC call. The status is 200 also for errors, as on a vCenter.
func (h *Handler) invoke(w http.ResponseWriter, r *http.Request) {
	var call invocation
	answer := struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  map[string]any  `json:"result,omitempty"` // "output" or "error"
		Error   *jsonRPCError   `json:"error,omitempty"`
	}{Version: "2.0", ID: json.RawMessage("null")}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, &call)
	}
	if len(call.ID) > 0 {
		answer.ID = call.ID
	}
	switch {
	case err != nil && json.Valid(body):
		answer.Error = &jsonRPCError{-32600, "Invalid Request."}
	case err != nil:
		answer.Error = &jsonRPCError{-32700, "Parse error."}
	case call.Method != "invoke":
		answer.Error = &jsonRPCError{-32601, "Method not found."}
	default:
		out, f := h.run(r, &call)
		answer.Result = map[string]any{"output": out}
		if f != nil {
			answer.Result = map[string]any{"error": f.structure()}
		}
	}
	writeJSON(w, http.StatusOK, answer)
}

// run runs an operation and returns its output.
func (h *Handler) run(r *http.Request, call *invocation) (any, *fault) {
	security := call.Params.Context.Security
	if call.Params.Service == sessionService && call.Params.Operation == "create" {
		user, password := security.User, security.Password
		if security.Scheme != schemePassword {
			if user, password, _ = r.BasicAuth(); user == "" {
				return nil, loginRequired()
			}
		}
		id, f := h.open(user, password)
		if f != nil {
			return nil, f
		}
		return map[string]string{"SECRET": id}, nil
	}
	id, ok := security.Session, security.Scheme == schemeSession
	if ok {
		_, ok = h.touch(id)
	} else {
		id, _, ok = h.authenticate(r)
	}
	if !ok {
		return nil, loginRequired()
	}
	switch call.Params.Service + " " + call.Params.Operation {
	case sessionService + " delete":
		h.close(id)
		return nil, nil
	case sessionService + " get":
		d := h.details.get(id)
		return structure("com.vmware.cis.session.info", map[string]any{
			"user": d.User, "created_time": d.Created, "last_accessed_time": d.Accessed,
		}), nil
	}
	return nil, newFault(noSuchOperation, "vapi.method.input.invalid.interface",
		"The operation "+call.Params.Service+"."+call.Params.Operation+" does not exist.")
}

// structure wraps fields in the name of their structure.
func structure(name string, fields map[string]any) map[string]any {
	return map[string]any{"STRUCTURE": map[string]any{name: fields}}
}

// structure returns the fault in the form of JSON-RPC.
func (f *fault) structure() map[string]any {
	messages := make([]any, len(f.messages))
	for i, m := range f.messages {
		messages[i] = structure("com.vmware.vapi.std.localizable_message", map[string]any{
			"id": m.ID, "default_message": m.Default, "args": m.Args,
		})
	}
	return map[string]any{"ERROR": map[string]any{"com.vmware.vapi.std.errors." + f.kind: map[string]any{"messages": messages}}}
}
