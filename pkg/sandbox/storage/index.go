package storage

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Disk is what vSphere has of a volume.
type Disk struct {
	ID            string
	Name          string
	VCenter       string
	Datastore     string
	CapacityBytes int64
	// VM is the one that has it, "" for none.
	VM string
	// File is its path, by which PersistentVolumes of the in-tree provider name it.
	File string
	// Claim is the Supervisor's claim that has it, by which PersistentVolumes of a guest cluster name it.
	Claim string
}

// Sources are where an [Index] looks up objects.
type Sources struct {
	// Disk returns the disk with an id, the path of a file or a Supervisor's claim; false when vSphere has none.
	Disk func(id string) (Disk, bool)
	// Node returns a Node by name; false when it does not exist.
	Node func(name string) (api.Node, bool)
	// Class returns how claims of a StorageClass are bound; false when it does not exist.
	Class func(name string) (storagev1.VolumeBindingMode, bool)
	// ForceDetach is how long the attach-detach controller waits for a node that does not answer.
	ForceDetach time.Duration
	// Changed receives each row that changes, or is gone. It is called with the lock of the index held, one call at a time,
	// and must not call the index.
	Changed func(row api.Volume, gone bool)
}

// Index keeps the rows. Its methods may be called from any goroutine.
type Index struct {
	src Sources

	mu          sync.Mutex
	claims      map[string]*corev1.PersistentVolumeClaim // by namespace/name
	volumes     map[string]*corev1.PersistentVolume
	byHandle    map[string][]string // PersistentVolumes, by the id or the path of their disk; several may name one
	attachments map[string]*storagev1.VolumeAttachment
	pods        map[string]*corev1.Pod
	orphans     map[string]string // names by id, of volumes that CNS has and no PersistentVolume
	warnings    map[string]warning
	rows        map[string]api.Volume
}

// New returns an empty index.
func New(src Sources) *Index {
	return &Index{
		src: src, claims: map[string]*corev1.PersistentVolumeClaim{}, volumes: map[string]*corev1.PersistentVolume{}, byHandle: map[string][]string{},
		attachments: map[string]*storagev1.VolumeAttachment{}, pods: map[string]*corev1.Pod{}, orphans: map[string]string{},
		warnings: map[string]warning{}, rows: map[string]api.Volume{},
	}
}

// Rows returns all rows, by claim and name.
func (x *Index) Rows() []api.Volume {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make([]api.Volume, 0, len(x.rows))
	for _, name := range sorted(x.rows) {
		all = append(all, x.rows[name])
	}
	slices.SortStableFunc(all, func(x, y api.Volume) int { return strings.Compare(x.Claim, y.Claim) })
	return all
}

// Claim follows a PersistentVolumeClaim.
func (x *Index) Claim(c *corev1.PersistentVolumeClaim, gone bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	keep(x.claims, key(c), c, gone)
	x.clear("PersistentVolumeClaim", key(c), gone)
	x.claim(key(c))
}

// Volume follows a PersistentVolume.
func (x *Index) Volume(v *corev1.PersistentVolume, gone bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	keep(x.volumes, v.Name, v, gone)
	x.clear("PersistentVolume", v.Name, gone)
	if h := handle(v); h != "" {
		x.name(h, v.Name, gone)
		if d, ok := x.src.Disk(h); ok {
			h = d.ID
		}
		x.orphan(h)
	}
	x.volume(v.Name)
	if gone {
		for _, other := range x.byHandle[handle(v)] {
			x.volume(other)
		}
	}
	if r := v.Spec.ClaimRef; r != nil {
		x.claim(r.Namespace + "/" + r.Name)
	}
}

// name records that a PersistentVolume names a disk.
func (x *Index) name(handle, volume string, gone bool) {
	others := slices.DeleteFunc(slices.Clone(x.byHandle[handle]), func(name string) bool { return name == volume })
	if !gone {
		others = append(others, volume)
	}
	keep(x.byHandle, handle, others, len(others) == 0)
}

// Class updates the claims of a StorageClass that has changed.
func (x *Index) Class(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, claim := range sorted(x.claims) {
		if c := x.claims[claim]; c.Spec.VolumeName == "" && c.Spec.StorageClassName != nil && *c.Spec.StorageClassName == name {
			x.claim(claim)
		}
	}
}

// Users lists the pods on a Node that use a PersistentVolume, by namespace and name; on all Nodes for "".
func (x *Index) Users(volume, node string) (pods []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	v := x.volumes[volume]
	if v == nil {
		return nil
	}
	for _, p := range x.podsOf(claimOf(v)) {
		if node == "" || p.Spec.NodeName == node {
			pods = append(pods, key(p))
		}
	}
	return pods
}

// Volumes lists the PersistentVolumes that a pod uses.
func (x *Index) Volumes(p *corev1.Pod) (volumes []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range claimsOf(p) {
		if c := x.claims[name]; c != nil && c.Spec.VolumeName != "" {
			volumes = append(volumes, c.Spec.VolumeName)
		}
	}
	return volumes
}

// Attachment follows a VolumeAttachment.
func (x *Index) Attachment(a *storagev1.VolumeAttachment, gone bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	keep(x.attachments, a.Name, a, gone)
	if v := a.Spec.Source.PersistentVolumeName; v != nil {
		x.volume(*v)
	}
}

// Pod follows a pod.
func (x *Index) Pod(p *corev1.Pod, gone bool) {
	if len(claimsOf(p)) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	keep(x.pods, key(p), p, gone)
	x.clear("Pod", key(p), gone || p.Status.Phase == corev1.PodRunning)
	for _, c := range claimsOf(p) {
		x.claim(c)
	}
}

// Node updates the volumes of a Node that has changed.
func (x *Index) Node(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, v := range x.volumes {
		if x.concerns(v, name) {
			x.volume(v.Name)
		}
	}
}

// Handle returns the id in vSphere of a PersistentVolume or of an orphan, by name; "" when neither exists.
func (x *Index) Handle(name string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, called := range x.orphans {
		if called == name {
			return id
		}
	}
	return x.rows[name].Handle
}

// Disk updates the volume whose disk has changed, by the id of the disk.
func (x *Index) Disk(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d, _ := x.src.Disk(id)
	for _, handle := range []string{id, d.File, d.Claim} {
		for _, name := range x.byHandle[handle] {
			x.volume(name)
		}
	}
	x.orphan(id)
}

// concerns reports whether a Node has a volume or a pod that uses it.
func (x *Index) concerns(v *corev1.PersistentVolume, node string) bool {
	claims, volumes := x.sharing(v)
	if slices.ContainsFunc(x.attachmentsOf(volumes...), func(a *storagev1.VolumeAttachment) bool { return a.Spec.NodeName == node }) {
		return true
	}
	return slices.ContainsFunc(x.podsOf(claims...), func(p *corev1.Pod) bool { return p.Spec.NodeName == node })
}

// claim updates the rows of a claim.
func (x *Index) claim(name string) {
	c := x.claims[name]
	if c != nil && c.Spec.VolumeName != "" && x.volumes[c.Spec.VolumeName] != nil {
		x.set(name, api.Volume{}, true)
		x.volume(c.Spec.VolumeName)
		return
	}
	x.set(name, x.pending(name, c), c == nil)
	for _, v := range x.volumes {
		if claimOf(v) == name {
			x.volume(v.Name)
		}
	}
}

// volume updates the row of a PersistentVolume, and of the others with its disk.
func (x *Index) volume(name string) {
	v := x.volumes[name]
	if v == nil {
		x.set(name, api.Volume{}, true)
		return
	}
	_, volumes := x.sharing(v)
	for _, name := range volumes {
		x.set(name, x.row(x.volumes[name]), false)
	}
}

// orphan updates the row of a volume that only CNS has.
func (x *Index) orphan(id string) {
	d, ok := x.src.Disk(id)
	if x.byHandle[id] != nil || x.byHandle[d.File] != nil || x.byHandle[d.Claim] != nil || !ok {
		if _, was := x.orphans[id]; was {
			delete(x.orphans, id)
			x.set(id, api.Volume{}, true)
		}
		return
	}
	waits := "no PersistentVolume has it, or not yet"
	if d.Claim != "" {
		waits = "no PersistentVolume of the cluster has it; the Supervisor's claim " + d.Claim + " does"
	}
	x.orphans[id] = d.Name
	x.set(id, api.Volume{
		Name: id, CNSName: d.Name, Handle: id, VCenter: d.VCenter, Datastore: d.Datastore, CapacityBytes: d.CapacityBytes, VM: d.VM,
		State: api.VolumeOrphaned, Waits: waits,
	}, false)
}

// set stores a row and reports it if it has changed.
func (x *Index) set(name string, row api.Volume, gone bool) {
	was, had := x.rows[name]
	switch {
	case gone && had:
		delete(x.rows, name)
		x.src.Changed(was, true)
	case !gone && (!had || !same(was, row)):
		x.rows[name] = row
		x.src.Changed(row, false)
	}
}

// warning is the last warning about an object.
type warning struct{ reason, message string }

// Warning stores a warning about a claim, a PersistentVolume (the namespace is "") or a pod. It is part of what the volume
// waits for as long as it waits.
func (x *Index) Warning(e *corev1.Event) {
	o := e.InvolvedObject
	name := o.Namespace + "/" + o.Name
	x.mu.Lock()
	defer x.mu.Unlock()
	switch o.Kind {
	case "PersistentVolumeClaim":
		if x.claims[name] != nil {
			x.warnings[o.Kind+" "+name] = warning{e.Reason, e.Message}
			x.claim(name)
		}
	case "PersistentVolume":
		if x.volumes[o.Name] != nil {
			x.warnings[o.Kind+" "+o.Name] = warning{e.Reason, e.Message}
			x.volume(o.Name)
		}
	case "Pod":
		if p := x.pods[name]; p != nil && p.Status.Phase != corev1.PodRunning {
			x.warnings[o.Kind+" "+name] = warning{e.Reason, e.Message}
			for _, c := range claimsOf(p) {
				x.claim(c)
			}
		}
	}
}

// clear removes the warning about an object that is gone, or has what it waited for.
func (x *Index) clear(kind, name string, done bool) {
	if done {
		delete(x.warnings, kind+" "+name)
	}
}

// because returns the last warning about an object that has one of the reasons (any, if none is given), as the end of a
// sentence.
func (x *Index) because(kind, name string, reasons ...string) string {
	c, ok := x.warnings[kind+" "+name]
	if !ok {
		return ""
	}
	for i, r := range reasons {
		if r == c.reason {
			break
		}
		if i == len(reasons)-1 {
			return ""
		}
	}
	return ": " + strings.TrimSpace(c.message)
}
