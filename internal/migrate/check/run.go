package check

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/doctor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// Input is what [Run] looks at. Client, VCenters and UserAgent are mandatory.
type Input struct {
	// Client accesses the cluster. Reports call it Cluster.
	Client  kubernetes.Interface
	Cluster string
	// VCenters are asked with their accounts, of which the privileges of a cloud controller manager and a CSI driver are
	// wanted. CSI, when set, is the same vCenters with the CSI driver's accounts, of which its privileges are wanted then.
	VCenters *vcenter.Config
	CSI      *vcenter.Config
	// Selection narrows down where VMs are looked for; the zero value means everywhere.
	Selection inventory.Selection
	// Datastores are more of them whose URLs are wanted: those of the old configuration.
	Datastores []string
	// UserAgent is sent to vCenters with every request.
	UserAgent string
	// Patience bounds every call to a vCenter. Default: that of package vcenter.
	Patience time.Duration
	// Now is this machine's clock. Default: the real one.
	Now func() time.Time
	// OnStep, when set, is called before each step with a description of it.
	OnStep func(what string)
}

// Run looks at the cluster and then at each vCenter. The error is one of the cluster, whose nodes cannot be read, or that of
// ctx; what else cannot be looked at is a finding.
func Run(ctx context.Context, in Input) (*Report, error) {
	if in.OnStep == nil {
		in.OnStep = func(string) {}
	}
	o, err := read(ctx, in.Client, in.OnStep)
	if err != nil {
		return nil, err
	}
	c := &run{in: in, objects: o, report: &Report{Cluster: in.Cluster, Version: o.version, Nodes: []Node{}, Volumes: []Volume{}, Classes: []Class{}}}
	c.readNodes()
	c.readVolumes()
	asked := c.askVCenters(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.judgeCluster()
	c.take(asked)
	c.judgeLabels()
	c.judgeTags()
	c.judgeVolumes()
	c.judgeClasses()
	c.judgeDriver()
	c.report.InTree = c.inTree || len(c.report.Volumes)+len(c.report.Classes)+len(c.report.Inline) > 0
	c.report.Findings = c.all
	return c.report, nil
}

// run is one run.
type run struct {
	list
	in       Input
	objects  *objects
	report   *Report
	sources  []corePV
	vcenters []*seen
	disks    map[string]*disk
	inTree   bool // a flag says so
}

// askVCenters runs doctor, and reads what doctor does not while the connection is open.
func (c *run) askVCenters(ctx context.Context) []doctor.Finding {
	cluster := &doctor.Cluster{Name: c.in.Cluster}
	for i := range c.objects.nodes {
		cluster.Nodes = append(cluster.Nodes, doctor.NodeOf(&c.objects.nodes[i]))
	}
	options := doctor.Options{
		UserAgent: c.in.UserAgent, Selection: c.in.Selection, Patience: c.in.Patience, Now: c.in.Now,
		Cluster: cluster, NodesOnly: true,
		OnStep: func(vcenter, what string) { c.in.OnStep("vcenter " + vcenter + ": " + what) },
		Inspect: func(ctx context.Context, conn *vcenter.Connection, inv *inventory.Inventory) {
			c.inspect(ctx, conn, inv)
		},
	}
	found := doctor.Check(ctx, c.in.VCenters, options)
	if c.in.CSI != nil {
		options.Inspect, options.Cluster, options.NodesOnly = nil, cluster, true
		found = merge(found, doctor.Check(ctx, c.in.CSI, options))
	}
	c.bind(cluster, found)
	return found
}

// merge takes what concerns the CSI driver's account from its own findings: its privileges, and what kept it from a vCenter.
func merge(ccm, csi []doctor.Finding) []doctor.Finding {
	var all []doctor.Finding
	for _, f := range ccm {
		if !strings.HasPrefix(f.ID, "privileges-csi") {
			all = append(all, f)
		}
	}
	for _, f := range csi {
		switch {
		case strings.HasPrefix(f.ID, "privileges-csi"):
			all = append(all, f)
		case f.ID == "login" && f.Level != doctor.OK:
			f.ID = "login-csi"
			all = append(all, f)
		}
	}
	return all
}

// Report is a cluster with its vCenters as they were when they were looked at.
type Report struct {
	// Cluster is what the cluster is called, and Version that of its API server.
	Cluster string `json:"cluster"`
	Version string `json:"version,omitempty"`
	// InTree says that something of the in-tree provider was seen: a flag, a volume, a class.
	InTree   bool      `json:"inTree"`
	VCenters []VCenter `json:"vcenters"`
	Nodes    []Node    `json:"nodes"`
	Volumes  []Volume  `json:"volumes"`
	Classes  []Class   `json:"storageClasses"`
	// Inline are the pods that name a disk of vSphere themselves, NAMESPACE/NAME.
	Inline   []string  `json:"inlineVolumes,omitempty"`
	Findings []Finding `json:"findings"`
}

// VCenter is one that was asked.
type VCenter struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	// Datastores are those that volumes and classes of the in-tree provider are in, by name, with their URLs.
	Datastores map[string]string `json:"datastores,omitempty"`
}

// Node is a node with its VM.
type Node struct {
	Name         string `json:"name"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	Kubelet      string `json:"kubelet,omitempty"`
	SystemUUID   string `json:"systemUUID,omitempty"`
	ProviderID   string `json:"providerID,omitempty"`
	// Uninitialized says that it waits for a cloud provider.
	Uninitialized bool `json:"uninitialized,omitempty"`
	// Zone and Region are those of the labels topology.kubernetes.io, OldZone and OldRegion of
	// failure-domain.beta.kubernetes.io.
	Zone      string `json:"zone,omitempty"`
	Region    string `json:"region,omitempty"`
	OldZone   string `json:"oldZone,omitempty"`
	OldRegion string `json:"oldRegion,omitempty"`
	// Driver says that the CSI driver is registered, and Migrated that its kubelet hands volumes of the in-tree provider to it.
	Driver   bool `json:"csiDriver,omitempty"`
	Migrated bool `json:"csiMigrated,omitempty"`
	// VM is nil where none was found.
	VM *VM `json:"vm,omitempty"`
}

// VM is what a node runs on.
type VM struct {
	VCenter string `json:"vcenter"`
	Path    string `json:"path"`
	UUID    string `json:"uuid"`
	// Match is how it was found: "uuid", "uuid, other byte order", and "provider ID" with the same ending.
	Match           string `json:"match"`
	Power           string `json:"power"`
	Hostname        string `json:"hostname,omitempty"`
	HardwareVersion string `json:"hardwareVersion,omitempty"`
	DiskUUID        bool   `json:"diskUUID"`
	Region          string `json:"region,omitempty"`
	Zone            string `json:"zone,omitempty"`
}

// Volume is a PersistentVolume of the in-tree provider.
type Volume struct {
	Name string `json:"name"`
	// Path is its disk, "[DATASTORE] FOLDER/FILE.vmdk".
	Path string `json:"path"`
	// Datastore is the part in brackets; VCenter has a datastore of that name and is empty where none or several do.
	Datastore string `json:"datastore,omitempty"`
	VCenter   string `json:"vcenter,omitempty"`
	// Disk is "found", "missing", or why it is not known.
	Disk string `json:"disk"`
	// Phase is the volume's: Bound. Claim is NAMESPACE/NAME.
	Phase string `json:"phase"`
	Claim string `json:"claim,omitempty"`
	Class string `json:"storageClass,omitempty"`
	// Reclaim is what becomes of its disk without a claim: Delete, Retain.
	Reclaim string `json:"reclaimPolicy,omitempty"`
	// Pods that have the claim, NAMESPACE/NAME, and the nodes that it is attached to.
	Pods     []string `json:"pods,omitempty"`
	Attached []string `json:"attachedTo,omitempty"`
	// Handle is what the CSI driver gets to see of it, and Topology the labels that its nodes must have then.
	Handle   string            `json:"csiHandle,omitempty"`
	Topology map[string]string `json:"csiTopology,omitempty"`
}

// Class is a StorageClass of the in-tree provider.
type Class struct {
	Name       string            `json:"name"`
	Parameters map[string]string `json:"parameters,omitempty"`
	// CSI are the parameters that the CSI driver gets while the class is translated, and not converted.
	CSI map[string]string `json:"csiParameters,omitempty"`
	// Default says that it is the one of claims that name none.
	Default bool `json:"default,omitempty"`
}

// Count is how many findings have the verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for _, f := range r.Findings {
		if f.Verdict == v {
			n++
		}
	}
	return n
}

// Verdict is what a check comes to.
type Verdict string

// The verdicts.
const (
	Pass Verdict = "pass"
	Warn Verdict = "warn" // a migration is possible, and something works less well
	Fail Verdict = "fail" // to be mended first
)

// Finding is one result.
type Finding struct {
	// Check is what was looked at, the same in every release: "pv-disks".
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	// Where is "cluster", or a vCenter's name, or "vcenters" where several are concerned.
	Where string `json:"where"`
	// Found is what was found. Why is what follows from it, and Try what to do; both are empty for what passes.
	Found string `json:"found"`
	Why   string `json:"why,omitempty"`
	Try   string `json:"try,omitempty"`
	// Objects are the names of all that are concerned, of which Found may spell out a few.
	Objects []string `json:"objects,omitempty"`
}

const cluster = "cluster"

// list collects findings.
type list struct{ all []Finding }

func (l *list) pass(check, where, format string, args ...any) {
	l.all = append(l.all, Finding{Check: check, Verdict: Pass, Where: where, Found: fmt.Sprintf(format, args...)})
}

func (l *list) add(f Finding) { l.all = append(l.all, f) }

// each adds one finding for the objects with a problem, out of the total number of a kind; what follows the number and the kind.
func (l *list) each(f Finding, wrong []string, of int, noun, fine, what string) {
	if len(wrong) == 0 {
		l.pass(f.Check, f.Where, "%s: %s", count(of, noun), fine)
		return
	}
	f.Objects = wrong
	f.Found = fmt.Sprintf("%d of %d %s %s: %s", len(wrong), of, plural(noun), what, shorten.List(wrong, shown))
	l.add(f)
}

// take translates what doctor has found.
func (l *list) take(all []doctor.Finding) {
	verdicts := map[doctor.Level]Verdict{doctor.OK: Pass, doctor.Warning: Warn, doctor.Error: Fail}
	for _, f := range all {
		where := f.VCenter
		switch {
		case f.Cluster != "":
			where = cluster
		case where == "":
			where = "vcenters"
		}
		l.add(Finding{Check: f.ID, Verdict: verdicts[f.Level], Where: where, Found: f.What, Why: f.Why, Try: f.Try, Objects: f.Objects})
	}
}

// shown is how many names a finding spells out.
const shown = 5

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %s", n, plural(noun))
}

func plural(noun string) string {
	if strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}
