package gate

import (
	"encoding/json"
	"net/http"
	"strings"
)

// policyErrors lists the errors of NSX's Policy API that the Automation API does not have.
func policyErrors() []string { return []string{"CONFLICT", "PRECONDITION_FAILED", "TOO_MANY_REQUESTS"} }

// policyError is an error of NSX's Policy API.
type policyError struct {
	Status  string `json:"httpStatus"`
	Code    int    `json:"error_code"`
	Module  string `json:"module_name"`
	Message string `json:"error_message"`
}

// WritePolicyError answers with an error in the form of NSX's Policy API.
func WritePolicyError(w http.ResponseWriter, status, code int, module, message string) {
	text, err := json.Marshal(policyError{statusName(status), code, module, message})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have disconnected
}

// statusName returns the name that NSX has for an HTTP status.
func statusName(status int) string {
	return strings.ToUpper(strings.ReplaceAll(http.StatusText(status), " ", "_"))
}

// policyCode returns the number that NSX has for an error of the gate.
func policyCode(status int) int {
	switch status {
	case http.StatusTooManyRequests:
		return 102
	case http.StatusConflict, http.StatusPreconditionFailed:
		return 604
	}
	return status
}

// writePolicyError answers for the gate.
func (c *call) writePolicyError(status int, message string) {
	c.Fault = statusName(status)
	WritePolicyError(c.answer, status, policyCode(status), "common-services", message)
}
