package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/await"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// step is one line of the boot.
type step = ground.Step

// supervisorStep is the name of the step that begins the Supervisor.
const supervisorStep = "Supervisor"

// steps lists the boot steps: those of every sandbox, then those of the ground.
func (s *Sandbox) steps() []step {
	all := []step{
		{Name: "event log", Start: s.openFiles, Stop: func(ctx context.Context) error { return errors.Join(s.files.Close(ctx), s.secrets.Close()) }},
		{Name: "trace", Start: s.tracer.Open, Stop: s.tracer.Close},        // of the first call
		{Name: "control API", Start: s.server.Start, Stop: s.server.Close}, // before all that takes time: clients follow the boot
	}
	if s.opts.Trace == "" {
		all = slices.DeleteFunc(all, func(st step) bool { return st.Name == "trace" })
	}
	if s.opts.From != nil {
		all = append(all, step{Name: "snapshot", Start: s.snapshots.unpack})
	}
	stock := ground.Steps{
		VCenters:    step{Name: "vCenters", Start: s.startVCenters, Stop: s.source.Stop},
		Inventory:   step{Name: "inventory watch", Start: s.watchInventory, Stop: s.inventory.Stop},
		Faults:      step{Name: "faults", Start: func(context.Context) error { return s.startFaults(catalogue.Kinds()) }, Stop: s.faults.Close},
		NodeWatch:   step{Name: "node watch", Start: s.clusterWatch.Start, Stop: s.clusterWatch.Stop},
		CloudConfig: step{Name: "cloud config", Start: s.config.Write, Stop: s.config.Stop},
		CCM:         step{Name: "cloud controller manager", Start: s.ccm.Start, Stop: s.ccm.Stop},
		Nodes:       step{Name: "nodes", Start: s.nodes.Start, Stop: s.nodes.Stop},
		Initialized: step{Name: "initialization", Start: s.awaitCluster, NoTimeout: true},
		Healthy:     step{Name: "cloud controller manager healthy", Start: s.ccm.Wait, NoTimeout: true},
	}
	if hasNSX(s) {
		stock.NSX = step{Name: "NSX Manager", Start: s.nsx.Start, Stop: s.nsx.Stop}
	}
	if hasSupervisor(s) {
		stock.Supervisor = step{Name: supervisorStep, Start: s.supervisor.Begin, Stop: s.supervisor.Stop}
		stock.Guest = step{Name: "guest cluster", Start: s.supervisor.Start}
	}
	if s.opts.LoadBalancer == LoadBalancerSimple || s.opts.LoadBalancer == LoadBalancerNSX {
		stock.LoadBalancer = step{Name: "load balancer", Start: s.loadBalancer.Start, Stop: s.loadBalancer.Stop}
	}
	if s.opts.CCM.None {
		stock.CCM.Name = "no cloud controller manager"
		stock.Initialized.Name = "nodes ready" // nothing initializes them
	}
	if s.opts.CSI.Enabled {
		stock.CSI = step{Name: "storage", Start: s.csi.Start, Stop: s.csi.Stop}
		stock.Volumes = step{Name: "volumes", Start: s.csi.Await, NoTimeout: s.opts.CSI.Foreign != nil}
		if s.csiDeployed() {
			stock.CSI.Start, stock.Volumes.Start = s.csi.Deploy, s.csi.AwaitPods
		}
	}
	all = append(all, s.ground.Steps(stock)...)
	return slices.DeleteFunc(all, func(st step) bool { return st.Start == nil })
}

// csiDeployed reports whether a CSI driver runs as pods.
func (s *Sandbox) csiDeployed() bool {
	_, ok := s.ground.(ground.Deployer)
	return ok && s.opts.CSI.Enabled
}

// awaitCluster waits until all nodes are initialized and the cloud controller manager is healthy.
func (s *Sandbox) awaitCluster(ctx context.Context) error {
	if err := s.await.Each(ctx, await.Initialized(s.currentWorld, !s.opts.CCM.None)); err != nil {
		return err
	}
	return s.ccm.Wait(ctx)
}

// openFiles opens the store of secrets before the files that must not have any.
func (s *Sandbox) openFiles(ctx context.Context) error {
	if err := s.secrets.Open(); err != nil {
		return err
	}
	return s.files.Open(ctx)
}

// startFaults starts the fault engine with these kinds.
func (s *Sandbox) startFaults(kinds []*fault.Kind) error {
	if err := s.secrets.Open(); err != nil {
		return err
	}
	return s.faults.Start(s.opts.Dir.Path("leases.jsonl"), fault.Options{
		Ground: s.faultGround(), Kinds: kinds, Sealer: s.secrets.Store(), Logger: s.opts.Logger, OnChange: s.rows.LeaseChanged,
	})
}

// shutdown heals the faults, stops the first begun steps in reverse order, and closes the proxies.
func (s *Sandbox) shutdown(steps []step, begun int) error {
	s.boot.SetPhase(api.Stopping)
	err := s.faults.End(context.Background())
	if err != nil {
		err = fmt.Errorf("heal: %w", err)
	}
	return errors.Join(err, s.boot.Stop(steps, begun), s.proxies.Close())
}
