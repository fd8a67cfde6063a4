package api

import "context"

// Datastore is where disks lie.
type Datastore struct {
	Name       string `json:"name"`
	VCenter    string `json:"vcenter"`
	Datacenter string `json:"datacenter"`
	Path       string `json:"path"`
	MoRef      string `json:"moref"`
	URL        string `json:"url"`
	// Type is VMFS, NFS, NFS41, vsan or VVOL.
	Type          string `json:"type"`
	CapacityBytes int64  `json:"capacityBytes"`
	FreeBytes     int64  `json:"freeBytes"`
	// Accessible: at least one host reaches it.
	Accessible bool `json:"accessible"`
	// Maintenance is "normal", or where it is on its way to or in.
	Maintenance string `json:"maintenance,omitempty"`
	// Hosts are those that mount it, Zones the zones that those are in.
	Hosts []string `json:"hosts"`
	Zones []string `json:"zones,omitempty"`
	// Volumes counts those of CNS on it.
	Volumes int `json:"volumes"`
}

// Datastores lists them by vCenter in topology order, then by path.
func (c *Client) Datastores(ctx context.Context) ([]Datastore, error) {
	return get[[]Datastore](ctx, c, "datastores")
}

// VolumeState is where a volume is between a claim and a pod that runs.
type VolumeState string

// The states of volumes.
const (
	VolumePending   VolumeState = "pending"   // a claim without a volume
	VolumeDetached  VolumeState = "detached"  // on no node, and wanted on none
	VolumeAttaching VolumeState = "attaching" // wanted on a node, and not attached to it yet
	VolumeAttached  VolumeState = "attached"  // on a node, where no pod runs with it
	VolumeInUse     VolumeState = "in-use"    // a pod runs with it
	VolumeBlocked   VolumeState = "blocked"   // wanted on one node and held by another
	VolumeDetaching VolumeState = "detaching" // being taken off a node
	VolumeReleased  VolumeState = "released"  // its claim is gone
	VolumeLost      VolumeState = "lost"      // CNS has none of its id
	VolumeOrphaned  VolumeState = "orphaned"  // CNS has it, and no PersistentVolume
)

// Volume is a volume as both planes have it: from the claim to the disk of a VM.
type Volume struct {
	// Name is the PersistentVolume's. A claim that has none yet goes by namespace/name, an orphan by its id.
	Name string `json:"name"`
	// Phase is that of the PersistentVolume, or of the claim without one.
	Phase string `json:"phase,omitempty"`
	// Claim is namespace/name of the PersistentVolumeClaim that it is bound to.
	Claim  string `json:"claim,omitempty"`
	Driver string `json:"driver,omitempty"`
	// CNSName is its name in CNS, if no PersistentVolume has it.
	CNSName string `json:"cnsName,omitempty"`
	// Handle is CNS's id of it.
	Handle       string `json:"handle,omitempty"`
	StorageClass string `json:"storageClass,omitempty"`
	// CapacityBytes is what CNS says, else what Kubernetes does.
	CapacityBytes int64  `json:"capacityBytes,omitempty"`
	VCenter       string `json:"vcenter,omitempty"`
	Datastore     string `json:"datastore,omitempty"`
	// VM is the one that has the disk, "" for none.
	VM string `json:"vm,omitempty"`
	// Node is the one that it is attached to in Kubernetes, or will be if Attached is not set; of a file volume, all, with commas.
	Node     string `json:"node,omitempty"`
	Attached bool   `json:"attached,omitempty"`
	// Pods are those that use its claim, namespace/name, as far as they have not ended.
	Pods  []string    `json:"pods,omitempty"`
	State VolumeState `json:"state"`
	// Health is what the syncer has written to the claim: accessible or inaccessible, "" for nothing.
	Health string `json:"health,omitempty"`
	// Waits says what the next step waits for, "" when it waits for nothing.
	Waits string `json:"waits,omitempty"`
	// Try is what the user must do to end the wait; "" if it ends automatically.
	Try string `json:"try,omitempty"`
}

// Attachment is a VolumeAttachment.
type Attachment struct {
	Name     string `json:"name"`
	Volume   string `json:"volume"`
	Node     string `json:"node"`
	Attached bool   `json:"attached"`
	// Deleting: it is being detached.
	Deleting bool `json:"deleting,omitempty"`
	// Error is why it could not be attached or detached.
	Error string `json:"error,omitempty"`
}

// Volumes lists volumes, claims without one, and what CNS has beyond them, by name.
func (c *Client) Volumes(ctx context.Context) ([]Volume, error) {
	return get[[]Volume](ctx, c, "volumes")
}

// VolumeAction is what can be done to a volume in vSphere, past Kubernetes.
type VolumeAction string

// The actions.
const (
	DetachVolume   VolumeAction = "detach"   // take the disk off its VM
	RelocateVolume VolumeAction = "relocate" // move it to another datastore
)

// VolumeRequest asks for an action on one volume.
type VolumeRequest struct {
	Action VolumeAction `json:"action"`
	// Volume is a claim (name, or namespace/name), a PersistentVolume's name or CNS's id.
	Volume string `json:"volume"`
	// Datastore is where to move it.
	Datastore string `json:"datastore,omitempty"`
	// Confirmed is as in VMRequest, for a volume of a real vCenter.
	Confirmed bool `json:"confirmed,omitempty"`
}

// Volume does something to a volume and returns when its vCenter reports it done.
func (c *Client) Volume(ctx context.Context, r VolumeRequest) (Done, error) {
	return post[Done](ctx, c, "volume", r)
}

// OutOfServiceRequest says that a node is out of service, or that it is not any more.
type OutOfServiceRequest struct {
	Node   string `json:"node"`
	Remove bool   `json:"remove,omitempty"`
}

// OutOfService gives a node the taint node.kubernetes.io/out-of-service, or takes it away.
func (c *Client) OutOfService(ctx context.Context, r OutOfServiceRequest) (Done, error) {
	return post[Done](ctx, c, "out-of-service", r)
}

// PathRequest asks where the files of a volume are.
type PathRequest struct {
	Volume string `json:"volume"`
}

// Path is where a pod finds a volume.
type Path struct {
	Volume string `json:"volume"`
	Node   string `json:"node"`
	// Pod is empty for a disk that a VM has and no pod.
	Pod string `json:"pod"`
	// Path is a directory of this machine; what is written into it is on the volume.
	Path string `json:"path"`
}

// VolumePath returns where the files of a volume are that is mounted into a pod. For a disk of the in-tree provider, named by its
// path, it returns where the guest of the VM sees them.
func (c *Client) VolumePath(ctx context.Context, r PathRequest) (Path, error) {
	return post[Path](ctx, c, "volume-path", r)
}
