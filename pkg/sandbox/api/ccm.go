package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

// CCMRequest asks for another cloud controller manager.
type CCMRequest struct {
	// Path is the program; "" is the built-in one.
	Path string `json:"path,omitempty"`
	// Source, Version and Digest say what it is, for status.
	Source  string `json:"source,omitempty"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Args come after the sandbox's own, Env (KEY=VALUE) is added to the environment.
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env,omitempty"`
	// Replicas is how many run; 0 is one.
	Replicas int `json:"replicas,omitempty"`
}

// SwapCCM has another cloud controller manager run, and returns when it is healthy. One that does not become so is
// replaced by the one before, and the error says why.
func (c *Client) SwapCCM(ctx context.Context, r CCMRequest) (Done, error) {
	return post[Done](ctx, c, "ccm", r)
}

// RestartCCM ends the cloud controller manager in order, starts it again, and returns when it is healthy.
func (c *Client) RestartCCM(ctx context.Context) (Done, error) {
	return post[Done](ctx, c, "ccm/restart", struct{}{})
}

// Metrics returns the metrics of a component in Prometheus' text format, as it tells them: "ccm", "ccm-2",
// "control-plane".
func (c *Client) Metrics(ctx context.Context, component string) ([]byte, error) {
	resp, err := c.do(ctx, http.MethodGet, "metrics/"+url.PathEscape(component), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
