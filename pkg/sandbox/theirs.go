package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// theirCluster is a cluster that was there before and is others': see [Theirs]. Nothing is made in it unless a cloud controller
// manager is to run, and then in a namespace of the sandbox's own, beside roles that carry its name.
type theirCluster struct {
	s       *Sandbox
	cluster *existing.Cluster
	made    bool // there may be something of the sandbox in it
}

func (*theirCluster) component() string { return "cluster" }
func (*theirCluster) patient() bool     { return false }
func (*theirCluster) podded() bool      { return false }

// start finds the cluster, and whatever speaks against the sandbox there, before there is anything of it.
func (t *theirCluster) start(ctx context.Context) error {
	s := t.s
	switch {
	case s.opts.Real == nil:
		return errors.New("the nodes of a cluster that is others' are VMs of real vCenters, and none are configured")
	case s.opts.CSI.Enabled:
		return errors.New("a cluster that is others' gets no CSI driver: its volumes are somebody's")
	}
	c, err := existing.Open(s.opts.Cluster.Theirs.Target, s.opts.Dir.Path())
	if err != nil {
		return err
	}
	t.cluster = c
	s.mu.Lock()
	s.cluster = c
	s.mu.Unlock()
	s.detail("an answer of " + c.Server())
	if _, err := c.Reach(ctx); err != nil {
		return err
	}
	s.detail("what runs there, and what you may do there")
	return t.guard(ctx)
}

// await makes the namespace, where anything is to be made: the cluster has served from the beginning.
func (t *theirCluster) await(ctx context.Context) error {
	if t.s.onlyWatches() {
		return nil
	}
	// Before the first object: of a sandbox that is killed, "down" learns by it what to remove.
	note := existing.Note{Name: t.s.opts.Name, Context: t.cluster.Context(), Beside: true}
	if err := existing.Leave(t.s.opts.Dir.Path(), note); err != nil {
		return err
	}
	t.made = true
	return t.cluster.Settle(ctx, t.s.opts.Name, t.s.ccmLabels())
}

// theirRemoveTime is how long it may take until what was made is gone: a namespace takes its time.
const theirRemoveTime = 90 * time.Second

// stop removes what was made.
func (t *theirCluster) stop(ctx context.Context) error {
	err := t.s.proxies.Close()
	if !t.made {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it bounds steps that take less
	removed := within(ctx, theirRemoveTime, func(ctx context.Context) error {
		return t.cluster.RemoveBeside(ctx, t.s.opts.Name, t.s.detail)
	})
	if removed != nil {
		return &LeftError{errors.Join(err, removed)}
	}
	return errors.Join(err, existing.Unnote(t.s.opts.Dir.Path()))
}

// guest is nobody of ours: the kubelet of a real node follows its VM by itself.
func (*theirCluster) guest(*machine) node.Guest { return theirGuest{} }

func (*theirCluster) waitVolumes(context.Context) error { return nil }
func (*theirCluster) volumes() podVolumes               { return podVolumes{} }
func (*theirCluster) guests(string) cns.Guests          { return nil }
func (*theirCluster) names(string) []string             { return nil }

// onlyWatches: the cluster is others', and nothing of the sandbox is to be in it.
func (s *Sandbox) onlyWatches() bool { return s.opts.Cluster.Theirs != nil && s.opts.CCM.None }
