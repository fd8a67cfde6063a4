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
}

// Sources are where a [Book] looks up what it is not told.
type Sources struct {
	// Disk returns what vSphere has under that id, or path of a file; false for nothing.
	Disk func(id string) (Disk, bool)
	// Node returns a node; false when there is none of that name.
	Node func(name string) (api.Node, bool)
	// Class returns how claims of a StorageClass are bound; false when there is none of that name.
	Class func(name string) (storagev1.VolumeBindingMode, bool)
	// ForceDetach is how long the attach-detach controller waits for a node that does not answer.
	ForceDetach time.Duration
	// Changed is told each row that has become another one; gone, that it is none any more. It is called with the book's
	// lock held, one at a time, and must not call the book.
	Changed func(row api.Volume, gone bool)
}

// Book keeps the rows. Its methods may be called from any goroutine.
type Book struct {
	src Sources

	mu          sync.Mutex
	claims      map[string]*corev1.PersistentVolumeClaim // by namespace/name
	volumes     map[string]*corev1.PersistentVolume
	byHandle    map[string]string // PersistentVolume, by the id or the path of its disk
	attachments map[string]*storagev1.VolumeAttachment
	pods        map[string]*corev1.Pod
	orphans     map[string]string // ids that CNS has and no PersistentVolume, with their names
	complaints  map[string]complaint
	rows        map[string]api.Volume
}

// New returns an empty book.
func New(src Sources) *Book {
	return &Book{
		src: src, claims: map[string]*corev1.PersistentVolumeClaim{}, volumes: map[string]*corev1.PersistentVolume{}, byHandle: map[string]string{},
		attachments: map[string]*storagev1.VolumeAttachment{}, pods: map[string]*corev1.Pod{}, orphans: map[string]string{},
		complaints: map[string]complaint{}, rows: map[string]api.Volume{},
	}
}

// Rows returns all rows, by claim and name.
func (b *Book) Rows() []api.Volume {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]api.Volume, 0, len(b.rows))
	for _, name := range sorted(b.rows) {
		all = append(all, b.rows[name])
	}
	slices.SortStableFunc(all, func(x, y api.Volume) int { return strings.Compare(x.Claim, y.Claim) })
	return all
}

// Claim is told of a PersistentVolumeClaim.
func (b *Book) Claim(c *corev1.PersistentVolumeClaim, gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keep(b.claims, key(c), c, gone)
	b.pardon("PersistentVolumeClaim", key(c), gone)
	b.claim(key(c))
}

// Volume is told of a PersistentVolume.
func (b *Book) Volume(v *corev1.PersistentVolume, gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keep(b.volumes, v.Name, v, gone)
	b.pardon("PersistentVolume", v.Name, gone)
	if h := handle(v); h != "" {
		keep(b.byHandle, h, v.Name, gone)
		if d, ok := b.src.Disk(h); ok {
			h = d.ID
		}
		b.orphan(h)
	}
	b.volume(v.Name)
	if r := v.Spec.ClaimRef; r != nil {
		b.claim(r.Namespace + "/" + r.Name)
	}
}

// Class is told that a StorageClass has come, has gone or is another one.
func (b *Book) Class(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, claim := range sorted(b.claims) {
		if c := b.claims[claim]; c.Spec.VolumeName == "" && c.Spec.StorageClassName != nil && *c.Spec.StorageClassName == name {
			b.claim(claim)
		}
	}
}

// Users lists the pods that use a PersistentVolume, by namespace and name, on a node (any, for "").
func (b *Book) Users(volume, node string) (pods []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.volumes[volume]
	if v == nil {
		return nil
	}
	for _, p := range b.podsOf(claimOf(v)) {
		if node == "" || p.Spec.NodeName == node {
			pods = append(pods, key(p))
		}
	}
	return pods
}

// Volumes lists the PersistentVolumes that a pod uses.
func (b *Book) Volumes(p *corev1.Pod) (volumes []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range claimsOf(p) {
		if c := b.claims[name]; c != nil && c.Spec.VolumeName != "" {
			volumes = append(volumes, c.Spec.VolumeName)
		}
	}
	return volumes
}

// Attachment is told of a VolumeAttachment.
func (b *Book) Attachment(a *storagev1.VolumeAttachment, gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keep(b.attachments, a.Name, a, gone)
	if v := a.Spec.Source.PersistentVolumeName; v != nil {
		b.volume(*v)
	}
}

// Pod is told of a pod.
func (b *Book) Pod(p *corev1.Pod, gone bool) {
	if len(claimsOf(p)) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	keep(b.pods, key(p), p, gone)
	b.pardon("Pod", key(p), gone || p.Status.Phase == corev1.PodRunning)
	for _, c := range claimsOf(p) {
		b.claim(c)
	}
}

// Node is told that a node has changed.
func (b *Book) Node(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, v := range b.volumes {
		if b.concerns(v, name) {
			b.volume(v.Name)
		}
	}
}

// Handle is the id in vSphere of a PersistentVolume or of an orphan that goes by that name, "" when there is none.
func (b *Book) Handle(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, called := range b.orphans {
		if called == name {
			return id
		}
	}
	return b.rows[name].Handle
}

// Disk is told that what vSphere has under that id has changed.
func (b *Book) Disk(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, _ := b.src.Disk(id)
	for _, handle := range []string{id, d.File} {
		if name, ok := b.byHandle[handle]; ok {
			b.volume(name)
		}
	}
	b.orphan(id)
}

// concerns tells whether a node has to do with a volume.
func (b *Book) concerns(v *corev1.PersistentVolume, node string) bool {
	if slices.ContainsFunc(b.attachmentsOf(v.Name), func(a *storagev1.VolumeAttachment) bool { return a.Spec.NodeName == node }) {
		return true
	}
	return slices.ContainsFunc(b.podsOf(claimOf(v)), func(p *corev1.Pod) bool { return p.Spec.NodeName == node })
}

// claim puts the rows of a claim right.
func (b *Book) claim(name string) {
	c := b.claims[name]
	if c != nil && c.Spec.VolumeName != "" && b.volumes[c.Spec.VolumeName] != nil {
		b.set(name, api.Volume{}, true)
		b.volume(c.Spec.VolumeName)
		return
	}
	b.set(name, b.pending(name, c), c == nil)
	for _, v := range b.volumes {
		if claimOf(v) == name {
			b.volume(v.Name)
		}
	}
}

// volume puts the row of a PersistentVolume right.
func (b *Book) volume(name string) {
	v := b.volumes[name]
	if v == nil {
		b.set(name, api.Volume{}, true)
		return
	}
	b.set(name, b.row(v), false)
}

// orphan puts the row of a volume right that CNS alone has.
func (b *Book) orphan(id string) {
	d, ok := b.src.Disk(id)
	_, has := b.byHandle[id]
	if _, byFile := b.byHandle[d.File]; has || byFile || !ok {
		if _, was := b.orphans[id]; was {
			delete(b.orphans, id)
			b.set(id, api.Volume{}, true)
		}
		return
	}
	b.orphans[id] = d.Name
	b.set(id, api.Volume{
		Name: id, Handle: id, VCenter: d.VCenter, Datastore: d.Datastore, CapacityBytes: d.CapacityBytes, VM: d.VM,
		State: api.VolumeOrphaned, Waits: "no PersistentVolume has it, or not yet",
	}, false)
}

// set tells of a row that is another one than it was.
func (b *Book) set(name string, row api.Volume, gone bool) {
	was, had := b.rows[name]
	switch {
	case gone && had:
		delete(b.rows, name)
		b.src.Changed(was, true)
	case !gone && (!had || !same(was, row)):
		b.rows[name] = row
		b.src.Changed(row, false)
	}
}

// complaint is the last warning about an object.
type complaint struct{ reason, message string }

// Complaint is told of a warning about a claim, a PersistentVolume (the namespace is "") or a pod. It is part of what the
// volume waits for as long as it waits.
func (b *Book) Complaint(e *corev1.Event) {
	o := e.InvolvedObject
	name := o.Namespace + "/" + o.Name
	b.mu.Lock()
	defer b.mu.Unlock()
	switch o.Kind {
	case "PersistentVolumeClaim":
		if b.claims[name] != nil {
			b.complaints[o.Kind+" "+name] = complaint{e.Reason, e.Message}
			b.claim(name)
		}
	case "PersistentVolume":
		if b.volumes[o.Name] != nil {
			b.complaints[o.Kind+" "+o.Name] = complaint{e.Reason, e.Message}
			b.volume(o.Name)
		}
	case "Pod":
		if p := b.pods[name]; p != nil && p.Status.Phase != corev1.PodRunning {
			b.complaints[o.Kind+" "+name] = complaint{e.Reason, e.Message}
			for _, c := range claimsOf(p) {
				b.claim(c)
			}
		}
	}
}

// pardon forgets what was complained of about an object that is gone, or has all it wants.
func (b *Book) pardon(kind, name string, content bool) {
	if content {
		delete(b.complaints, kind+" "+name)
	}
}

// because is what was last complained of about an object, for one of the reasons (any, when there are none), as the end of
// a sentence.
func (b *Book) because(kind, name string, reasons ...string) string {
	c, ok := b.complaints[kind+" "+name]
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
