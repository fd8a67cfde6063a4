package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// message is a localizable message of vAPI.
type message struct {
	Args    []string `json:"args"`
	Default string   `json:"default_message"`
	ID      string   `json:"id"`
}

// fault is an error of vAPI: com.vmware.vapi.std.errors.<kind>.
type fault struct {
	kind     string
	messages []message
}

// The kinds of fault, by their names in com.vmware.vapi.std.errors.
const (
	notFound        = "not_found"
	alreadyExists   = "already_exists"
	invalidArgument = "invalid_argument"
	unauthenticated = "unauthenticated"
	unauthorized    = "unauthorized"
	unavailable     = "service_unavailable"
	internalError   = "internal_server_error"
)

// Identifiers of messages. Those of tagging without a comment are made up after the others.
const (
	msgObjectNotFound = "cis.tagging.objectNotFound.error"                         // seen: govmomi #2211
	msgCardinality    = "cis.tagging.attach.invalidArgument.cardinality.error"     // seen: govmomi #2211
	msgAssociable     = "cis.tagging.attach.invalidArgument.associableTypes.error" //
	msgDuplicateName  = "cis.tagging.duplicateName.error"                          //
	msgInvalid        = "cis.tagging.invalidArgument.error"                        //
	msgMissingField   = "vapi.data.structure.field.missing"                        // vAPI runtime
	msgForbidden      = "vapi.security.authorization.invalid"                      // vAPI runtime
	msgLogin          = "com.vmware.vapi.endpoint.method.authentication.required"  // seen on vCenter
	msgNoOperation    = "com.vmware.vapi.rest.httpNotFound"                        // seen on vCenter
	msgTooMany        = "com.vmware.vapi.endpoint.failedToLoginMaxUserSessionCountReached"
)

// newFault returns a fault with one message and its arguments.
func newFault(kind, id, text string, args ...string) *fault {
	if args == nil {
		args = []string{}
	}
	return &fault{kind: kind, messages: []message{{Args: args, Default: text, ID: id}}}
}

func missing(id string) *fault {
	return newFault(notFound, msgObjectNotFound, fmt.Sprintf("Tagging object %s not found", id), id)
}

func duplicate(what, name string) *fault {
	return newFault(alreadyExists, msgDuplicateName, fmt.Sprintf("%s %s already exists", what, name), name)
}

func invalid(format string, args ...any) *fault {
	return newFault(invalidArgument, msgInvalid, fmt.Sprintf(format, args...))
}

func forbidden() *fault { return newFault(unauthorized, msgForbidden, "Unable to authorize user") }

func loginRequired() *fault { return newFault(unauthenticated, msgLogin, "Authentication required.") }

func noOperation() *fault { return newFault(notFound, msgNoOperation, "Not found.") }

// Error implements error, for callers in Go.
func (f *fault) Error() string {
	text := make([]string, 0, len(f.messages))
	for _, m := range f.messages {
		text = append(text, m.Default)
	}
	return strings.ReplaceAll(f.kind, "_", " ") + ": " + strings.Join(text, "; ")
}

// status returns the HTTP status of the kind in vAPI's REST endpoint.
func (f *fault) status() int {
	switch f.kind {
	case notFound:
		return http.StatusNotFound
	case unauthenticated:
		return http.StatusUnauthorized
	case unauthorized:
		return http.StatusForbidden
	case unavailable:
		return http.StatusServiceUnavailable
	case internalError:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

// challenge is the WWW-Authenticate header.
const challenge = `Basic realm="VAPI endpoint"`

// write answers with the fault, in the form of /api or of /rest.
func (f *fault) write(w http.ResponseWriter, api bool) {
	if f.kind == unauthenticated {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	if !api {
		writeJSON(w, f.status(), struct {
			Type  string `json:"type"`
			Value any    `json:"value"`
		}{"com.vmware.vapi.std.errors." + f.kind, map[string]any{"messages": f.messages}})
		return
	}
	body := struct {
		Type      string    `json:"error_type"`
		Messages  []message `json:"messages"`
		Challenge string    `json:"challenge,omitempty"`
	}{Type: strings.ToUpper(f.kind), Messages: f.messages}
	if f.kind == unauthenticated {
		body.Challenge = challenge
	}
	writeJSON(w, f.status(), body)
}

// writeJSON answers with a value, ignoring a disconnected client.
func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
