package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/artifacts"
)

// recording copies what the sandbox has recorded of itself up to now.
func recording(ctx context.Context, d *artifacts.Dir, n int, c *api.Client) error {
	lines, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		enc := json.NewEncoder(w)
		err := c.Record(ctx, false, func(h api.Recording) error { return enc.Encode(h) }, func(r api.Recorded) error { return enc.Encode(r) })
		_ = w.CloseWithError(err) // never fails
	}()
	err := d.Copy(name("recordings", n, "recording", "jsonl"), lines)
	_ = lines.Close() // never fails, and ends what nobody reads any more
	<-done
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}
