package api

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
)

// Mask has m know every secret of the sandbox, whose directory is dir, and those that it comes to know later. Whoever
// exports what a sandbox says calls it first, and exports nothing where it fails.
func (c *Client) Mask(ctx context.Context, m *mask.Mask, dir string) error {
	if err := m.Follow(dir); err != nil {
		return err
	}
	secrets, err := c.Secrets(ctx)
	m.Know(secrets...)
	return err
}
