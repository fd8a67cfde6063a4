package reported

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// ground is one lab for all reports.
type ground struct {
	*lab.Lab
	t *testing.T
	// ccm is that of the phase, mark and began are from before its start, door is the vCenter of the last phase.
	ccm   *lab.CCM
	mark  lab.Mark
	began time.Time
	door  *sim.VCenter

	binary string // of the CCM
	theirs bool   // not ours
}

// patience is how long what has to happen may take. Others back off for longer than ours does.
func (w *ground) patience() time.Duration {
	if w.theirs {
		return 45 * time.Second
	}
	return 30 * time.Second
}

// config is vsphere.conf for some vCenters, all of their datacenters and the credentials of the Secret.
func (w *ground) config(edit func(conf map[string]any), vcenters ...string) string {
	w.t.Helper()
	text, err := w.CloudConfig(sim.CloudConfig{CAFile: w.CAFile, SecretName: lab.SecretName, SecretNamespace: lab.Namespace})
	if err != nil {
		w.t.Fatal(err)
	}
	conf := map[string]any{}
	if err := yaml.Unmarshal(text, &conf); err != nil {
		w.t.Fatal(err)
	}
	all := conf["vcenter"].(map[string]any)
	some := map[string]any{}
	for _, name := range vcenters {
		some[name] = all[name]
	}
	conf["vcenter"] = some
	if edit != nil {
		edit(conf)
	}
	if text, err = yaml.Marshal(conf); err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// start starts a CCM in place of the one before.
func (w *ground) start(o lab.CCMOptions) {
	w.t.Helper()
	o.Args = append([]string{"--node-monitor-period=500ms", "--node-status-update-frequency=2s"}, o.Args...)
	if w.theirs {
		o.Path, o.Admin = w.binary, true // they follow the Secrets of the whole cluster
	} else {
		o.Args = append([]string{"--vcenter-call-timeout=2s", "--vcenter-max-wait=2s", "--config-poll-period=200ms"}, o.Args...)
	}
	w.mark, w.began = w.Mark(), time.Now()
	w.ccm = w.StartCCM(o)
}

// stop stops it, and ends the sessions that it leaves behind.
func (w *ground) stop() error {
	if err := w.ccm.Stop(); err != nil {
		return err
	}
	for _, v := range w.VCenters() {
		v.EndSessions(w.Account(v.Name()).Name)
	}
	return nil
}

func startMain(w *ground) {
	w.start(lab.CCMOptions{Name: "main", Config: w.config(nil, "us", "eu")})
}

// rewrite puts another vsphere.conf in the place of the CCM's.
func (w *ground) rewrite(conf string) error {
	next := w.ccm.ConfigFile + ".next"
	if err := os.WriteFile(next, []byte(conf), 0o600); err != nil {
		return err
	}
	return os.Rename(next, w.ccm.ConfigFile)
}

// machines are those of these names.
func (w *ground) machines(names ...string) []*lab.Machine {
	all := make([]*lab.Machine, len(names))
	for i, name := range names {
		all[i] = w.Machine(name)
	}
	return all
}

// forget removes the Nodes of a report, for those that follow.
func (w *ground) forget(ctx context.Context, r report) error {
	names := r.nodes
	for _, v := range r.vms {
		names = append(names, w.nodeOf(v))
	}
	w.Kubelets.Hang(names...)
	var wrong []error
	for _, name := range names {
		wrong = append(wrong, w.remove(ctx, name))
	}
	return errors.Join(wrong...)
}

// nodeOf is the name of a machine's node.
func (w *ground) nodeOf(v vm) string {
	for _, m := range w.Machines() {
		if m.VM.Name == v.name {
			return m.Name
		}
	}
	return v.name
}
