package sandbox

import (
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/inspect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// inspector returns what explains and inspects the objects of the sandbox.
func (s *Sandbox) inspector() *inspect.Inspector {
	return &inspect.Inspector{
		Log: s.log, Roles: s.nodes, Volumes: s.storage.Rows, Datastores: func() []api.Datastore { return s.vcenters.Datastores() }, Components: s.componentRows,
		Grace: s.causes.Grace, Others: s.facts.Nodes == api.NodesReal, VMOf: s.causes.VM, CCM: s.explainCCM,
		World: func() *world.World {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.world
		},
		VCenters: func() (all []inspect.VCenter) {
			for _, vc := range s.vcenters {
				all = append(all, inspect.VCenter{
					Row: vc.Row(), Server: vc.Host(), Client: vc.Client, Inventory: vc.Inventory, Gate: vc.Gate(), Simulated: vc.Simulated,
					Calls: func() []api.Calls { return vcenters.CallsRows(vc.Name(), vc.Gate().Stats()) },
				})
			}
			return all
		},
		Kubernetes: func() kubernetes.Interface {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.cluster == nil {
				return nil
			}
			return s.cluster.Client()
		},
		Leases: s.faults.Rows,
		NodeOf: func(vcenter, vm string) string { return s.nodes.of(s.world.VMs(), vcenter, vm) },
		Cut: func(node string) bool {
			t, err := s.nodes.supervised(node)
			if err != nil {
				return false
			}
			w := s.proxies.Find(t.wire)
			return w != nil && w.IsCut()
		},
	}
}

// explainCCM adds how the cloud controller manager is, which is asked every second, and what it is configured with.
func (s *Sandbox) explainCCM(a *explain.Around, subject string) {
	for _, row := range s.componentRows() {
		if !s.ccm.Has(row.Name) {
			continue
		}
		if w := s.proxies.Find(row.Name); w != nil && w.IsCut() {
			a.CCMCut = true
		}
		a.CCM = append(a.CCM, row)
		if row.Leader || len(a.CCMLog) == 0 {
			a.CCMLog = linesAbout(child.LogTail(s.opts.Dir.Log(row.Name), 0), subject)
		}
	}
	a.Relabels = slices.ContainsFunc(s.ccm.Running().Args, func(arg string) bool {
		return arg == "--relabel-zones" || arg == "--relabel-zones=true"
	})
	if s.facts.ReadOnly { // what a cloud controller manager of the sandbox's own would have: the cluster's is not looked for
		conf, err := s.config.RenderFile()
		if a.Config.Err = err; err == nil {
			a.Config.Is, a.Config.Err = config.Load(cloudconfig.Key, conf)
		}
	} else {
		a.Config.Is, a.Config.Err = config.LoadFile(s.config.File)
	}
	if a.Config.Is != nil {
		a.Config.Is = a.Config.Is.Masked()
	}
}

// linesAbout are the last lines of a log that name something.
func linesAbout(log, name string) (lines []string) {
	const most = 5
	for _, line := range slices.Backward(strings.Split(log, "\n")) {
		if strings.Contains(line, `"`+name+`"`) || strings.Contains(line, " "+name+" ") {
			if _, text, ok := strings.Cut(line, "] "); ok { // klog's header says when and where in the source
				line = text
			}
			if lines = append(lines, line); len(lines) == most {
				break
			}
		}
	}
	slices.Reverse(lines)
	return lines
}
