package check

import (
	"context"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

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
