package sandbox

import (
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/inspect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// inspector returns what explains and inspects the objects of the sandbox.
func (s *Sandbox) inspector() *inspect.Inspector {
	_, others := s.sourced()
	return &inspect.Inspector{
		Log: s.log, Roles: s.nodes, Volumes: s.storage.Rows, Datastores: func() []api.Datastore { return s.vcenters.Datastores() }, Components: s.componentRows,
		Grace: s.causes.Grace, Others: others, VMOf: s.causes.VM, CCM: s.explainCCM,
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
		NodeOf: func(vcenter, vm string) string { return s.nodes.Find(s.world.VMs(), vcenter, vm) },
		Cut: func(node string) bool {
			k, err := s.nodes.Kubelet(node)
			if err != nil {
				return false
			}
			w := s.proxies.Find(k.Proxy)
			return w != nil && w.IsCut()
		},
	}
}

// explainCCM adds how the cloud controller manager is, which is asked every second, and what it is configured with.
func (s *Sandbox) explainCCM(a *explain.Around, subject string) {
	for _, row := range s.componentRows() {
		if s.ccms.find(row.Name) == nil {
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
	runs, _ := s.ccms.running()
	a.Relabels = slices.ContainsFunc(runs.Args, func(arg string) bool {
		return arg == "--relabel-zones" || arg == "--relabel-zones=true"
	})
	if s.guarded() != nil { // what a cloud controller manager of the sandbox's own would have: the cluster's is not looked for
		conf, err := s.source.CloudConfig(s.ownPlace())
		if a.Config.Err = err; err == nil {
			a.Config.Is, a.Config.Err = config.Load(cloudConfigKey, conf)
		}
	} else {
		a.Config.Is, a.Config.Err = config.LoadFile(s.cloudConfigFile())
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
