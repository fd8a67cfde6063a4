package ccm

import (
	"net"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
)

// elects reports whether the replicas elect a leader. One process, which the sandbox starts again, needs no Lease; a release that
// elects one in its manifest does so here.
func (o Options) elects() bool {
	if o.Replicas > 1 || o.Installed == nil {
		return o.Replicas > 1
	}
	elect := true // the default of cloud controller managers
	for _, arg := range o.Installed.Args() {
		if value, ok := strings.CutPrefix(arg, "--leader-elect="); ok {
			elect = value != "false"
		}
	}
	return elect
}

// installation sets how a program that takes the place of another one is installed.
func (o Options) installation(next *Options) {
	if i := o.Other[next.Program.Source]; i != nil {
		next.Installed, next.Other = i, o.Other
	}
}

// account is the ServiceAccount as which processes of a program act.
func (p *Processes) account(o Options) accounts.Account {
	a := accounts.Account{Namespace: p.Place.Namespace, Name: ServiceAccount, File: p.tokenFile(), Group: tokenGroup}
	if o.Installed != nil {
		a.Namespace, a.Name = o.Installed.Namespace, o.Installed.ServiceAccount
	}
	return a
}

// installedRights are the objects of the manifest.
func installedRights(o Options) []runtime.Object {
	var objects []runtime.Object
	for _, object := range o.Installed.Objects {
		objects = append(objects, object.DeepCopyObject())
	}
	return objects
}

// installedArguments are those of the manifest, for a process of this host: paths of the configuration are those of the sandbox,
// and so are addresses and ports, which all nodes share. Periods are the sandbox's, by its speed.
func (p *Processes) installedArguments(r *replica, o Options) []string {
	var args []string
	folder := path.Dir(o.Installed.ConfigFile) + "/"
	for _, arg := range o.Installed.Args() {
		if arg = strings.ReplaceAll(arg, o.Installed.ConfigFile, p.ConfigFile); !strings.Contains(arg, p.ConfigFile) {
			arg = strings.ReplaceAll(arg, folder, filepath.Dir(p.ConfigFile)+"/")
		}
		args = append(args, arg)
	}
	if r.health != "" {
		args = append(args, "--health-address="+net.JoinHostPort(host, r.health))
	}
	kubeconfig := p.kubeconfig(r.name)
	args = append(append(args, "--kubeconfig="+kubeconfig), p.Speed.CCMArgs()...)
	if o.Program.Own {
		args = append(args, p.ownPeriods()...)
	}
	if !secure(o) { // its tokens are not reviewed, and it needs no rights for that
		return args
	}
	return append(args,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address="+host, "--secure-port="+r.port, "--tls-cert-file="+p.certificate(), "--tls-private-key-file="+p.key(),
		"--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics",
	)
}

// secure reports whether a program serves HTTPS: a release may turn that off.
func secure(o Options) bool {
	return o.Installed == nil || slices.ContainsFunc(o.Installed.Listeners(), func(l installed.Listener) bool { return l.TLS })
}

// base is where a replica serves its metrics, and its health if nothing else is known.
func (p *Processes) base(r *replica) string {
	if o, _ := p.current(); !secure(o) && r.health != "" {
		return "http://" + net.JoinHostPort(host, r.health)
	}
	return "https://" + net.JoinHostPort(host, r.port)
}

// probes are the URLs that a replica must answer: those of the probes in the manifest, or /healthz.
func (p *Processes) probes(r *replica) []string {
	o, _ := p.current()
	base := p.base(r)
	if o.Installed == nil {
		return []string{base + "/healthz"}
	}
	var urls []string
	for _, probe := range o.Installed.Probes() {
		if probe.TLS {
			urls = append(urls, "https://"+net.JoinHostPort(host, r.port)+probe.Path)
		} else if r.health != "" {
			urls = append(urls, "http://"+net.JoinHostPort(host, r.health)+probe.Path)
		}
	}
	if urls == nil { // it has none, and the sandbox has to know when it runs
		urls = []string{base + "/healthz"}
	}
	return urls
}
