package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Trace returns the calls to the vCenters that the sandbox keeps with their bodies, as lines of package trace. With follow it continues
// until ctx or the sandbox ends, and a sandbox that keeps none has those from now on; without follow the latter is an error of
// code no-trace. The caller closes it.
func (c *Client) Trace(ctx context.Context, follow bool) (io.ReadCloser, error) {
	resp, err := c.do(ctx, http.MethodGet, "trace?"+url.Values{"follow": {strconv.FormatBool(follow)}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
