package intent

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Args implements [Action].
func (s SaveSnapshot) Args() []string {
	c := command{words: []string{"snapshot", "save"}, names: []string{s.Name}}
	if s.Replace {
		c.flags = []string{"--force"}
	}
	return c.args()
}

// Danger implements [Action]: a snapshot that is replaced is lost.
func (s SaveSnapshot) Danger() string {
	if s.Replace {
		return fmt.Sprintf("Replace snapshot %s?", s.Name)
	}
	return ""
}

// Do implements [Action].
func (s SaveSnapshot) Do(ctx context.Context, on Sandbox) (string, error) {
	saved, err := on.SaveSnapshot(ctx, s.SaveRequest)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("snapshot %s is saved: %d VMs, %d volumes", saved.Name, saved.VMs, saved.Volumes), nil
}

// Args implements [Action].
func (r RestoreSnapshot) Args() []string {
	return command{words: []string{"snapshot", "restore"}, names: []string{r.Name}}.args()
}

// Danger implements [Action]: what happened since the snapshot is lost.
func (r RestoreSnapshot) Danger() string {
	return fmt.Sprintf("Go back to snapshot %s? What changed since is lost.", r.Name)
}

// Do implements [Action].
func (r RestoreSnapshot) Do(ctx context.Context, on Sandbox) (string, error) {
	restored, err := on.RestoreSnapshot(ctx, api.RestoreRequest{Name: r.Name})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("snapshot %s is restored", restored.Name), nil
}
