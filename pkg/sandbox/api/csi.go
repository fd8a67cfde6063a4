package api

import "context"

// Program is a program that a user brings.
type Program struct {
	// Path is the file; "" is the built-in one, or none.
	Path string `json:"path,omitempty"`
	// Source, Version and Digest say what it is, for status.
	Source  string `json:"source,omitempty"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// CSIRequest chooses the CSI driver to run.
type CSIRequest struct {
	Program Program `json:"program,omitzero"`
	Syncer  Program `json:"syncer,omitzero"`
	// Args come after the sandbox's own of the driver, Env (KEY=VALUE) is added to the environment.
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env,omitempty"`
	// ConfigFile is a configuration in place of the sandbox's.
	ConfigFile string `json:"configFile,omitempty"`
	// Manifest grants the rights of a driver of another project.
	Manifest []byte `json:"manifest,omitempty"`
	// Webhook runs the syncer also as upstream's validating webhook; WebhookManifest has its registration and rights.
	Webhook         bool   `json:"webhook,omitempty"`
	WebhookManifest []byte `json:"webhookManifest,omitempty"`
}

// CSI is the CSI driver of a sandbox.
type CSI struct {
	Programs []CSIProgram `json:"programs"`
	Node     CSINode      `json:"node"`
}

// CSIProgram is a process of the CSI driver.
type CSIProgram struct {
	Component
	// Part is controller, syncer, webhook or sidecar.
	Part string `json:"part"`
	// Features are the feature states that it reads, of a driver of another project.
	Features []FeatureStates `json:"features,omitempty"`
}

// FeatureStates are the switches in a ConfigMap.
type FeatureStates struct {
	// ConfigMap is its NAMESPACE/NAME.
	ConfigMap string            `json:"configMap"`
	States    map[string]string `json:"states,omitempty"`
	// Error is why they are not known.
	Error string `json:"error,omitempty"`
}

// CSINode is the node services of a CSI driver, one for each node.
type CSINode struct {
	// Source, Version and Digest say what program they are.
	Source  string `json:"source"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Why is why they are not the driver's own; "" when they are.
	Why string `json:"why,omitempty"`
	// Nodes is how many nodes have a kubelet that runs. Those in Waiting do not take volumes yet.
	Nodes   int      `json:"nodes"`
	Waiting []string `json:"waiting,omitempty"`
}

// CSI returns the CSI driver that runs.
func (c *Client) CSI(ctx context.Context) (CSI, error) { return get[CSI](ctx, c, "csi") }

// SwapCSI has another CSI driver run, and returns when it is healthy. One that does not become so is replaced by the one before,
// and the error says why.
func (c *Client) SwapCSI(ctx context.Context, r CSIRequest) (Done, error) {
	return post[Done](ctx, c, "csi", r)
}

// RestartCSI ends the CSI driver and its sidecars, starts them again, and returns when the driver is healthy.
func (c *Client) RestartCSI(ctx context.Context) (Done, error) {
	return post[Done](ctx, c, "csi/restart", struct{}{})
}
