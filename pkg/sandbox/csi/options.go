package csi

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
)

// Options choose the driver of a sandbox whose driver runs as processes. The zero value is the built-in driver.
type Options struct {
	// Program is the driver. One that is built from this project runs with the flags of the built-in driver, its node service too;
	// any other one with the environment that upstream's manifests have, and with the built-in node service.
	Program program.Program
	// Syncer is the syncer beside a driver that needs one; without a path, none. A driver that is built from this project is its own.
	Syncer program.Program
	// Args follow the sandbox's own arguments of the driver, Env (KEY=VALUE) is added to the environment of driver and syncer.
	Args, Env []string
	// ConfigFile is the path of a configuration in place of the sandbox's; "" for that.
	ConfigFile string
	// Manifest grants the rights of a driver that is not built from this project; nil for those of upstream's v3.7.0.
	Manifest []byte
	// Watch is a file. Each new build of it replaces the program. "" watches no file.
	Watch string
	// Webhook runs the syncer once more, as upstream's validating webhook, and registers it at the API server.
	Webhook bool
	// WebhookManifest has the registration and the rights of the webhook; nil for those of upstream's v3.7.0.
	WebhookManifest []byte
	// Replicas is the number of controllers, each with its sidecars; 0 is one. Of several, each kind of process elects a leader. Only
	// drivers of this project can have several: the ports of upstream's are fixed.
	Replicas int
}

// OnePerMachine is why a driver of another project has one controller.
const OnePerMachine = "only a driver of this project can have several controllers on one machine; the ports of upstream's are fixed"

// MaxReplicas bounds the number of controllers.
const MaxReplicas = 5

// WithDefaults returns the options with the built-in program where nothing else is set.
func (o Options) WithDefaults() Options {
	if o.Program.Path == "" {
		o.Program = program.Program{Source: string(program.Builtin), Own: true}
	}
	if o.Program.Own {
		o.Syncer, o.Webhook = program.Program{}, false
	}
	o.Replicas = max(o.Replicas, 1)
	return o
}

// Name returns the name of the program in messages.
func (o Options) Name() string {
	if v := o.Program.Version; v != "" && !strings.Contains(o.Program.Source, v) {
		return o.Program.Source + " (" + v + ")"
	}
	return o.Program.Source
}

// named returns the names of two programs in a message about both. Two builds of one program are named with their digests.
func named(a, b Options) (string, string) {
	short := func(o Options) string {
		_, hex, _ := strings.Cut(o.Program.Digest, ":")
		return " (" + hex[:min(len(hex), 12)] + ")"
	}
	if a.Name() != b.Name() || a.Program.Digest == b.Program.Digest {
		return a.Name(), b.Name()
	}
	return a.Name() + short(a), b.Name() + short(b)
}

// process is a process of a CSI driver's controller.
type process struct {
	// name is the name of the component and of its log.
	name string
	// program is the name of the first replica and, for a sidecar, of the program's subcommand.
	program string
	// replica is the controller to which it belongs, from 0.
	replica int
	// account is its ServiceAccount, in objects.DefaultNamespace.
	account string
	// part is "" for a sidecar.
	part part
}

// part is a program of the driver.
type part string

const (
	partController part = "controller"
	partSyncer     part = "syncer"
	partWebhook    part = "webhook"
)

// probed reports whether the sandbox asks such a program for its health.
func (p part) probed() bool { return p == partController || p == partWebhook }

// processes lists those of a driver with these options, in the order of their start, controller by controller.
func (o Options) processes() []process {
	var all []process
	for replica := range max(o.Replicas, 1) {
		for _, p := range processes() {
			if p.part == partSyncer && o.Syncer.Path == "" || p.part == partWebhook && !o.Webhook {
				continue
			}
			p.name, p.replica = components.Replica(p.program, replica), replica
			all = append(all, p)
		}
	}
	return all
}

// elects reports whether processes elect leaders: one process, which the sandbox starts again, needs no Lease.
func (o Options) elects() bool { return o.Replicas > 1 }
