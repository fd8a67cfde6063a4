package api

import (
	"context"
	"time"
)

// Snapshot is a saved state of a sandbox.
type Snapshot struct {
	Name string `json:"name"`
	// Sandbox is the name of the sandbox that was saved.
	Sandbox string    `json:"sandbox"`
	SavedAt time.Time `json:"savedAt,omitzero"`
	// Version is the release of vsphere-sandbox that saved it, Kubernetes that of the cluster.
	Version    string `json:"version"`
	Kubernetes string `json:"kubernetes"`
	Topology   string `json:"topology"`
	// Nodes, VMs, Volumes and Objects count what is in it; Objects are those of the API server.
	Nodes   int `json:"nodes"`
	VMs     int `json:"vms"`
	Volumes int `json:"volumes"`
	Objects int `json:"objects"`
	// Bytes is its size, Path its directory.
	Bytes int64  `json:"bytes"`
	Path  string `json:"path,omitempty"`
	// Problem is why it cannot be read, "" if it can.
	Problem string `json:"problem,omitempty"`
}

// SaveRequest asks for a snapshot.
type SaveRequest struct {
	Name string `json:"name"`
	// Replace replaces a snapshot of that name.
	Replace bool `json:"replace,omitempty"`
}

// RestoreRequest asks for the state of a snapshot: of the sandbox's own by name, or one in the directory Path.
type RestoreRequest struct {
	Name string `json:"name,omitempty"`
	Path string `json:"path,omitempty"`
}

// Snapshots lists the snapshots of the sandbox, oldest first.
func (c *Client) Snapshots(ctx context.Context) ([]Snapshot, error) {
	return get[[]Snapshot](ctx, c, "snapshots")
}

// SaveSnapshot saves the state of the sandbox.
func (c *Client) SaveSnapshot(ctx context.Context, r SaveRequest) (Snapshot, error) {
	return post[Snapshot](ctx, c, "snapshots", r)
}

// RestoreSnapshot returns when the sandbox has the state of a snapshot and is ready.
func (c *Client) RestoreSnapshot(ctx context.Context, r RestoreRequest) (Snapshot, error) {
	return post[Snapshot](ctx, c, "snapshots/restore", r)
}
