package gate

import (
	"encoding/json"
	"net/http"
	"strings"
)

// restErrors are the errors of the vSphere Automation API (com.vmware.vapi.std.errors).
func restErrors() []string {
	return []string{
		"ALREADY_EXISTS", "ALREADY_IN_DESIRED_STATE", "CANCELED", "CONCURRENT_CHANGE", "ERROR", "FEATURE_IN_USE",
		"INTERNAL_SERVER_ERROR", "INVALID_ARGUMENT", "INVALID_ELEMENT_CONFIGURATION", "INVALID_ELEMENT_TYPE", "INVALID_REQUEST",
		"NOT_ALLOWED_IN_CURRENT_STATE", "NOT_FOUND", "OPERATION_NOT_FOUND", "RESOURCE_BUSY", "RESOURCE_INACCESSIBLE",
		"RESOURCE_IN_USE", "SERVICE_UNAVAILABLE", "TIMED_OUT", "UNABLE_TO_ALLOCATE_RESOURCE", "UNAUTHENTICATED", "UNAUTHORIZED",
		"UNEXPECTED_INPUT", "UNSUPPORTED", "UNVERIFIED_PEER",
	}
}

// restStatus is the HTTP status of an error, as in VMware's generator of OpenAPI (build_error_map).
func restStatus(kind string) int {
	switch kind {
	case "UNAUTHENTICATED":
		return http.StatusUnauthorized
	case "UNAUTHORIZED":
		return http.StatusForbidden
	case "NOT_FOUND", "OPERATION_NOT_FOUND":
		return http.StatusNotFound
	case "INTERNAL_SERVER_ERROR":
		return http.StatusInternalServerError
	case "SERVICE_UNAVAILABLE":
		return http.StatusServiceUnavailable
	case "TIMED_OUT":
		return http.StatusGatewayTimeout
	default:
		return http.StatusBadRequest
	}
}

const restErrorPrefix = "com.vmware.vapi.std.errors."

// restMessage is a message of the Automation API.
type restMessage struct {
	ID      string   `json:"id"`
	Default string   `json:"default_message"`
	Args    []string `json:"args"`
}

// restBody is an error of /api; with Type left out it is the value of one of /rest.
type restBody struct {
	Type     string        `json:"error_type,omitempty"`
	Messages []restMessage `json:"messages"`
}

// writeRESTError answers with an error in the form of the path's API: /rest wraps it in type and value, /api does not.
func (c *call) writeRESTError(e RESTError) {
	c.Fault = e.Type
	if e.Status == 0 {
		e.Status = restStatus(e.Type)
	}
	if e.Message == "" {
		e.Message = "simulated error: " + e.Type
	}
	messages := []restMessage{{ID: "vsphere-sandbox.gate." + strings.ToLower(e.Type), Default: e.Message, Args: []string{}}}
	body := any(restBody{e.Type, messages})
	if !under(c.r.URL.Path, "/api") {
		body = struct {
			Type  string   `json:"type"`
			Value restBody `json:"value"`
		}{restErrorPrefix + strings.ToLower(e.Type), restBody{Messages: messages}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(c.answer, err.Error(), http.StatusInternalServerError)
		return
	}
	c.answer.Header().Set("Content-Type", "application/json")
	c.answer.WriteHeader(e.Status)
	_, _ = c.answer.Write(text) // the client may be gone
}

// restErrorType returns the type of the error in the beginning of an answer, "" when there is none to be seen.
func restErrorType(answer []byte) string {
	var e struct {
		Type    string `json:"type"`
		APIType string `json:"error_type"`
	}
	if json.Unmarshal(answer, &e) != nil {
		return ""
	}
	if e.APIType != "" {
		return e.APIType
	}
	return strings.ToUpper(strings.TrimPrefix(e.Type, restErrorPrefix))
}
