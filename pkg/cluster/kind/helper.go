package kind

import (
	"context"
	"fmt"
)

// Ask runs a script of the shell in a container of the nodes' image, as root and without a network, and returns what it writes to its
// standard output. The container is no node, and is gone afterwards. Options.Runtime has to be given.
func (c *Cluster) Ask(ctx context.Context, script string) ([]byte, error) {
	out, err := c.opts.Runtime.Output(ctx, "run", "--rm", "--network", "none", "--label", helperLabel+"="+c.Name(), "--entrypoint", "sh", c.opts.Image, "-c", script)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", c.opts.Image, err)
	}
	return out, nil
}
