package gate

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
)

// kubernetesStatus is an error of a Kubernetes API server: a metav1.Status.
type kubernetesStatus struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Metadata   struct{} `json:"metadata"`
	Status     string   `json:"status"`
	Message    string   `json:"message"`
	Reason     string   `json:"reason,omitempty"`
	Code       int      `json:"code"`
}

// statusReason returns the reason that API servers give with an HTTP status.
func statusReason(code int) string {
	switch code {
	case http.StatusUnauthorized:
		return "Unauthorized"
	case http.StatusForbidden:
		return "Forbidden"
	case http.StatusNotFound:
		return "NotFound"
	case http.StatusConflict:
		return "Conflict"
	case http.StatusTooManyRequests:
		return "TooManyRequests"
	case http.StatusInternalServerError:
		return "InternalError"
	case http.StatusServiceUnavailable:
		return "ServiceUnavailable"
	case http.StatusGatewayTimeout:
		return "Timeout"
	}
	return ""
}

// writeStatus answers for the gate, before an API server of Kubernetes.
func (c *call) writeStatus(code int, message string) {
	c.Fault = statusReason(code)
	text, err := json.Marshal(kubernetesStatus{
		Kind: "Status", APIVersion: "v1", Status: "Failure", Message: cmp.Or(message, c.Fault, http.StatusText(code)), Reason: c.Fault, Code: code,
	})
	if err != nil {
		http.Error(c.answer, err.Error(), http.StatusInternalServerError)
		return
	}
	c.answer.Header().Set("Content-Type", "application/json")
	c.answer.WriteHeader(code)
	_, _ = c.answer.Write(text) // the client may have disconnected
}

// kubernetesMethod returns a common name for requests of one kind: the verb of HTTP, or WATCH, and the resource. A request for
// something else than a resource is named by the first element of its path.
func kubernetesMethod(r *http.Request) string {
	verb := r.Method
	if w := r.URL.Query().Get("watch"); w == "true" || w == "1" {
		verb = "WATCH"
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	rest := parts
	switch {
	case parts[0] == "api" && len(parts) > 2:
		rest = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		rest = parts[3:]
	default:
		return clip(verb + " /" + parts[0])
	}
	if rest[0] == "namespaces" && len(rest) > 2 {
		rest = rest[2:]
	}
	name := rest[0]
	if len(rest) > 2 {
		name += "/" + rest[2]
	}
	return clip(verb + " " + name)
}

// clip limits a name that a client chose.
func clip(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	return strings.ToValidUTF8(name, "�")
}
