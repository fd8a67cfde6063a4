package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Volume is the case of a volume.
type Volume struct {
	Around
	// Row is how the sandbox sums it up.
	Row api.Volume
	// Claim and Volume are nil, and Pods is empty, where they do not exist.
	Claim       Answer[*corev1.PersistentVolumeClaim]
	Volume      Answer[*corev1.PersistentVolume]
	Attachments Answer[[]storagev1.VolumeAttachment]
	Pods        Answer[[]corev1.Pod]
	// Disk is what CNS has of it; nil for nothing.
	Disk Answer[*Disk]
	// Holders are the VMs that have its disk among their devices, as VCENTER/NAME.
	Holders Answer[[]Holder]
	// Node is how the node is that it is on or wanted on; nil for none.
	Node *api.Node
	// Drivers are the components that move volumes: the CSI controller and its sidecars.
	Drivers []api.Component
}

// Disk is a volume of CNS.
type Disk struct {
	VCenter, ID, Name, Datastore, File string
	CapacityBytes                      int64
	Health                             string
}

// Holder is a VM with the disk of the volume.
type Holder struct {
	VM, Power string
	Disk      api.Disk
}

// Explain answers all questions about it.
func (c Volume) Explain() api.Explanation {
	v := c.Row
	e := api.Explanation{
		Subject: api.Subject{Kind: "volume", VCenter: v.VCenter, Name: v.Name}, Events: History(c.Events, ofVolume(v)), Volume: &v,
	}
	e.Questions = sorted([]question{c.state(), c.agreement(), c.drivers(), c.faults(c.touches)})
	e.Summary = summary("volume "+cmp.Or(v.Claim, v.Name), e.Questions, string(v.State))
	return e
}

// ofVolume reports whether an event is about a volume, its claim, its attachments or the pods that use it.
func ofVolume(v api.Volume) func(event.Event) bool {
	return func(e event.Event) bool {
		switch e.Object.Kind {
		case "Volume", "PersistentVolume":
			return e.Object.Name == v.Name || v.Handle != "" && e.Object.Name == v.Handle
		case "PersistentVolumeClaim":
			return v.Claim != "" && e.Object.Name == v.Claim
		case "VolumeAttachment":
			return strings.HasPrefix(e.Object.Name, v.Name+" at ")
		case "Pod":
			return slices.Contains(v.Pods, e.Object.Name)
		}
		return false
	}
}

// settled are the states in which a volume waits for nothing.
var settled = []api.VolumeState{api.VolumeInUse, api.VolumeAttached, api.VolumeDetached}

// broken are the states that do not end automatically.
var broken = []api.VolumeState{api.VolumeBlocked, api.VolumeLost, api.VolumeOrphaned}

// state walks from the claim to the pod, and says what the next step waits for.
func (c Volume) state() (q question) {
	v := c.Row
	well := slices.Contains(settled, v.State) && v.Waits == ""
	switch {
	case well:
		q.Ask = "Where is it?"
	case slices.Contains(settled, v.State):
		q.Ask = "What does it wait for?"
	default:
		q.Ask = fmt.Sprintf("Why is it %s?", v.State)
	}
	c.sawClaim(&q)
	c.sawVolume(&q)
	c.sawDisk(&q)
	c.sawHolders(&q)
	c.sawAttachments(&q)
	if n := c.Node; n != nil {
		text := "Ready=" + cmp.Or(n.Ready, "none")
		if n.Power != "" {
			text += ", its VM is " + n.Power
		}
		if len(n.Taints) > 0 {
			text += ", taints " + strings.Join(n.Taints, ", ")
		}
		q.saw(apiServer, verdictOf(n.Ready == string(corev1.ConditionTrue)), "Node "+n.Name, "%s", text)
	} else if v.Node != "" && !names.IsFileVolume(v.Handle) { // a file volume is on several
		q.saw(apiServer, missing, "Node "+v.Node, "does not exist")
	}
	c.sawPods(&q)
	q.because(c.Around, c.newest(ofVolume(v)))
	switch {
	case slices.Contains(broken, v.State):
		q.answer(event.Error, v.Try, "it is %s; what it waits for: %s", v.State, cmp.Or(v.Waits, "nothing"))
	case v.Waits != "":
		q.answer(event.Warning, v.Try, "it is %s; what it waits for: %s", v.State, v.Waits)
	case v.State == api.VolumeInUse:
		q.answer(event.Info, "", "on node %s, where %s runs with it", v.Node, and(v.Pods, "and"))
	case v.State == api.VolumeAttached:
		q.answer(event.Info, "", "on node %s, where no pod runs with it", v.Node)
	case v.State == api.VolumeDetached:
		q.answer(event.Info, "", "on no node, and wanted on none")
	}
	q.answer(event.Info, v.Try, "%s", v.State)
	return q
}

// agreement says whether both planes have the volume on the same VM; nothing when one of them has not been asked, or has
// nothing to say.
func (c Volume) agreement() (q question) {
	if c.Attachments.Err != nil || c.Holders.Err != nil || c.Row.Handle == "" {
		return q
	}
	q.Ask = "Do both planes agree on where it is?"
	var on, at []string
	for _, h := range c.Holders.Is {
		on = append(on, h.VM)
	}
	for _, a := range c.Attachments.Is {
		if a.Status.Attached {
			at = append(at, a.Spec.NodeName)
		}
	}
	q.saw("vCenters", neither, "VM with the disk", "%s", cmp.Or(and(on, "and"), "none"))
	q.saw(apiServer, neither, "attached to node", "%s", cmp.Or(and(at, "and"), "none"))
	vm := ""
	if c.Node != nil && c.Node.VM != "" {
		vm = c.Node.VCenter + "/" + c.Node.VM
	}
	switch {
	case names.IsFileVolume(c.Row.Handle):
		q.answer(event.Info, "", "yes: it is a share, which nodes mount and no VM has")
	case len(on) > 1:
		q.answer(event.Error, "", "%s VMs have its disk: %s", count(len(on)), and(on, "and"))
	case len(at) > 0 && len(on) == 0 && c.Row.State != api.VolumeDetaching:
		q.answer(event.Error, "", "no: it is attached to node %s, and no VM has its disk", and(at, "and"))
	case len(at) > 1 && len(on) == 1:
		q.answer(event.Warning, "", "no: it is attached to nodes %s, and only VM %s has its disk", and(at, "and"), on[0])
	case len(at) == 0 && len(on) == 1 && c.Row.State == api.VolumeBlocked:
		q.answer(event.Error, c.Row.Try, "no: VM %s has its disk, and node %s wants it", on[0], c.Row.Node)
	case len(at) == 0 && len(on) == 1 && c.Row.State != api.VolumeAttaching && c.Row.State != api.VolumeDetaching:
		q.answer(event.Warning, "", "no: VM %s has its disk, and it is attached to no node", on[0])
	case len(at) == 1 && len(on) == 1 && (vm == "" || c.Node.Name != at[0]): // the case has not that node, or not its VM
		q.answer(event.Info, "", "it is attached to node %s, and VM %s has its disk", at[0], on[0])
	case len(at) == 1 && len(on) == 1 && vm != on[0]:
		q.answer(event.Error, "", "no: it is attached to node %s, which is VM %s, and VM %s has its disk", at[0], vm, on[0])
	case len(at) == 0 && len(on) == 0:
		q.answer(event.Info, "", "yes: it is nowhere")
	}
	q.answer(event.Info, "", "yes: %s", cmp.Or(and(on, "and"), "on its way"))
	return q
}

// drivers says whether what moves volumes works; nothing when it does.
func (c Volume) drivers() (q question) {
	q.Ask = "Does what moves volumes work?"
	var ill []string
	for _, d := range c.Drivers {
		text := d.State
		well := d.State == "running"
		if d.Health != "" && d.Health != "healthy" {
			well, text = false, text+", "+d.Health
		}
		q.saw(sandbox, verdictOf(well), "component "+d.Name, "%s", strings.TrimSuffix(text+": "+d.Message, ": "))
		if !well {
			ill = append(ill, d.Name+" is "+text)
		}
	}
	if len(ill) > 0 {
		q.answer(event.Error, "vsphere-sandbox status", "no: %s", and(ill, "and"))
	}
	return q
}

func (c Volume) touches(t api.LeaseTarget) bool {
	switch kindOf(t) {
	case "sandbox":
		return true
	case "volume":
		return t.Name == c.Row.Name || t.Name == c.Row.Handle || t.Name == c.Row.Claim
	case "vcenter":
		return t.Name == c.Row.VCenter
	case "datastore":
		return t.VCenter == c.Row.VCenter && t.Name == c.Row.Datastore
	case "node":
		return t.Name == c.Row.Node
	case "vm":
		return t.VCenter == c.Row.VCenter && t.Name == c.Row.VM || c.Node != nil && t.VCenter == c.Node.VCenter && t.Name == c.Node.VM
	case "component":
		return strings.HasPrefix(t.Name, "csi") || t.Name == "node/"+c.Row.Node
	}
	return false
}

func (c Volume) sawClaim(q *question) {
	if c.Row.Claim == "" {
		return
	}
	what := "PersistentVolumeClaim " + c.Row.Claim
	switch pvc := c.Claim.Is; {
	case c.Claim.Err != nil:
		q.saw(apiServer, unknown, what, "%v", c.Claim.Err)
	case pvc == nil:
		q.saw(apiServer, missing, what, "no longer exists")
	default:
		text := string(pvc.Status.Phase)
		if pvc.Spec.VolumeName != "" {
			text += " to " + pvc.Spec.VolumeName
		}
		if pvc.Spec.StorageClassName != nil {
			text += ", StorageClass " + *pvc.Spec.StorageClassName
		}
		health := pvc.Annotations[names.HealthAnnotation]
		if health != "" {
			text += ", volume " + health
			if since := pvc.Annotations[names.HealthTimestampAnnotation]; since != "" {
				text += " since " + since
			}
		}
		q.saw(apiServer, verdictOf(pvc.Status.Phase == corev1.ClaimBound && health != names.Inaccessible), what, "%s", text)
		if pvc.Status.Phase == corev1.ClaimPending {
			q.Evidence[len(q.Evidence)-1].Verdict = missing
		}
	}
}

func (c Volume) sawVolume(q *question) {
	switch pv := c.Volume.Is; {
	case c.Volume.Err != nil:
		q.saw(apiServer, unknown, "PersistentVolume", "%v", c.Volume.Err)
	case pv == nil:
		q.saw(apiServer, missing, "PersistentVolume", "does not exist")
	default:
		text := string(pv.Status.Phase) + ", " + string(pv.Spec.PersistentVolumeReclaimPolicy)
		if pv.Spec.CSI != nil {
			text += ", handle " + pv.Spec.CSI.VolumeHandle
		}
		q.saw(apiServer, verdictOf(pv.Status.Phase == corev1.VolumeBound), "PersistentVolume "+pv.Name, "%s", text)
	}
}

func (c Volume) sawDisk(q *question) {
	if c.Row.Handle == "" {
		return
	}
	what := "CNS volume " + c.Row.Handle
	switch d := c.Disk.Is; {
	case c.Disk.Err != nil:
		q.saw("vCenter "+cmp.Or(c.Row.VCenter, "?"), unknown, what, "%v", c.Disk.Err)
	case d == nil:
		q.saw("vCenters", missing, what, "no vCenter has one of this id")
	default:
		q.saw("vCenter "+d.VCenter, fine, what, "%d MiB on datastore %s, health %s, file %s", d.CapacityBytes>>20, orNone(d.Datastore), orNone(d.Health), orNone(d.File))
	}
}

func (c Volume) sawHolders(q *question) {
	switch list := c.Holders.Is; {
	case c.Holders.Err != nil:
		q.saw("vCenters", unknown, "VM with the disk", "%v", c.Holders.Err)
	case len(list) == 0:
		q.saw("vCenters", neither, "VM with the disk", "none")
	default:
		for _, h := range list {
			vcenter, _ := cutID(h.VM)
			q.saw("vCenter "+vcenter, verdictOf(len(list) == 1), "VM "+h.VM, "powered %s; its disk %d:%d is the volume, %s", h.Power, h.Disk.Controller, h.Disk.Unit, h.Disk.File)
		}
	}
}

func (c Volume) sawAttachments(q *question) {
	switch list := c.Attachments.Is; {
	case c.Attachments.Err != nil:
		q.saw(apiServer, unknown, "VolumeAttachment", "%v", c.Attachments.Err)
	case len(list) == 0:
		q.saw(apiServer, neither, "VolumeAttachment", "none")
	default:
		for _, a := range list {
			text, verdict := "wanted, and not attached", missing
			if a.Status.Attached {
				text, verdict = "attached", fine
			}
			if a.DeletionTimestamp != nil {
				text, verdict = text+", being detached since "+c.clock(a.DeletionTimestamp.Time), wrong
			}
			for _, e := range []*storagev1.VolumeError{a.Status.AttachError, a.Status.DetachError} {
				if e != nil {
					text, verdict = text+": "+e.Message, wrong
				}
			}
			q.saw(apiServer, verdict, "VolumeAttachment to node "+a.Spec.NodeName, "%s", text)
		}
	}
}

func (c Volume) sawPods(q *question) {
	if c.Pods.Err != nil {
		q.saw(apiServer, unknown, "pods that use it", "%v", c.Pods.Err)
		return
	}
	if len(c.Pods.Is) == 0 {
		q.saw(apiServer, neither, "pods that use it", "none")
	}
	for _, p := range c.Pods.Is {
		text := string(p.Status.Phase)
		if p.Spec.NodeName != "" {
			text += " on node " + p.Spec.NodeName
		} else {
			text += ", not scheduled"
		}
		waits := waiting(p)
		if waits != "" {
			text += ", and yet " + waits
		}
		if p.DeletionTimestamp != nil {
			text += ", being deleted: its grace period ends at " + c.clock(p.DeletionTimestamp.Time)
		}
		q.saw(apiServer, verdictOf(p.Status.Phase == corev1.PodRunning && waits == "" && p.DeletionTimestamp == nil), "Pod "+p.Namespace+"/"+p.Name, "%s", text)
	}
}

// waiting says which container of a pod whose phase is Running does not run: the phase is that of a pod which has been started once.
func waiting(p corev1.Pod) string {
	if p.Status.Phase != corev1.PodRunning {
		return ""
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil {
			return "container " + s.Name + " waits: " + cmp.Or(w.Message, w.Reason, "no reason is given")
		}
	}
	return ""
}
