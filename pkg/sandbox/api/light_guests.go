package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

// LightGuests calls f for each line about a light node: first what each is, up to a line that is Synced, then every change,
// until ctx ends, f returns an error or the sandbox ends, which is nil. It is what the program follows that stands for light
// nodes, which asks again when it is cut off; see package feed.
func (c *Client) LightGuests(ctx context.Context, f func(feed.Line) error) error {
	resp, err := c.do(ctx, http.MethodGet, "machines", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var l feed.Line
		if err := d.Decode(&l); err == io.EOF {
			return nil
		} else if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("machines: %w", err)
		}
		if err := f(l); err != nil {
			return err
		}
	}
}
