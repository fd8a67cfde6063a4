package installed

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Listener is where the program listens.
type Listener struct {
	// Flag is the argument that says so: "--secure-port".
	Flag string
	Port int
	// TLS means that it serves HTTPS.
	TLS bool
}

// defaultPort is the port of cloud controller managers (k8s.io/cloud-provider).
const defaultPort = 10258

// Listeners returns where the arguments have the program listen.
func (i *Installation) Listeners() []Listener {
	args := i.Args()
	port := defaultPort
	if text := flag(args, "--secure-port"); text != "" {
		port, _ = strconv.Atoi(text) // the program refuses what is no number
	}
	var all []Listener
	if port != 0 { // which turns it off
		all = append(all, Listener{"--secure-port", port, true})
	}
	if _, text, err := net.SplitHostPort(flag(args, "--health-address")); err == nil {
		if n, err := strconv.Atoi(text); err == nil {
			all = append(all, Listener{Flag: "--health-address", Port: n})
		}
	}
	return all
}

// Probe is a probe of the container that asks for an HTTP path.
type Probe struct {
	// Name is livenessProbe, readinessProbe or startupProbe.
	Name, Path string
	Port       int
	TLS        bool
}

// Probes returns the HTTP probes of the container.
func (i *Installation) Probes() []Probe {
	var all []Probe
	for _, p := range []struct {
		name  string
		probe *corev1.Probe
	}{{"startupProbe", i.Container.StartupProbe}, {"livenessProbe", i.Container.LivenessProbe}, {"readinessProbe", i.Container.ReadinessProbe}} {
		if p.probe == nil || p.probe.HTTPGet == nil {
			continue
		}
		get := p.probe.HTTPGet
		port := get.Port.IntValue()
		for _, named := range i.Container.Ports {
			if named.Name == get.Port.StrVal && named.Name != "" {
				port = int(named.ContainerPort)
			}
		}
		all = append(all, Probe{p.name, get.Path, port, get.Scheme == corev1.URISchemeHTTPS})
	}
	return all
}

// uninitialized is the taint of every node that no cloud controller manager has seen yet, controlPlane that of the nodes where
// cloud controller managers run.
func uninitialized() corev1.Taint {
	return corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}
}

func controlPlane() corev1.Taint {
	return corev1.Taint{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule}
}

const controlPlaneRole = "node-role.kubernetes.io/control-plane"

// Findings returns what is wrong with the installation, as far as the manifest alone shows it: its pods would find no node of a
// new cluster, or a kubelet would end them again and again.
func (i *Installation) Findings() []string {
	var all []string
	for _, taint := range []corev1.Taint{uninitialized(), controlPlane()} {
		if !i.tolerates(taint) {
			all = append(all, fmt.Sprintf("%s does not tolerate %s: its pods find no node of a new cluster", i.Workload, taint.ToString()))
		}
	}
	node := &corev1.Node{}
	node.Name, node.Labels = "control-plane", map[string]string{controlPlaneRole: "", "kubernetes.io/os": "linux"}
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: i.Pod}).Match(node); err != nil || !ok {
		why := "its nodeSelector and its affinity match no control-plane node as kubeadm labels it"
		if err != nil {
			why = err.Error()
		}
		all = append(all, fmt.Sprintf("%s: %s", i.Workload, why))
	}
	listeners := i.Listeners()
	var ports []string
	for _, l := range listeners {
		ports = append(ports, fmt.Sprintf("%d (%s)", l.Port, l.Flag))
	}
	for _, p := range i.Probes() {
		at := slices.IndexFunc(listeners, func(l Listener) bool { return l.Port == p.Port })
		switch {
		case at < 0:
			all = append(all, fmt.Sprintf("%s asks port %d, where the program does not listen: its ports are %s", p.Name, p.Port, strings.Join(ports, ", ")))
		case listeners[at].TLS != p.TLS:
			speaks, serves := "HTTP", "HTTPS"
			if p.TLS {
				speaks, serves = serves, speaks
			}
			all = append(all, fmt.Sprintf("%s asks port %d by %s, where the program serves %s", p.Name, p.Port, speaks, serves))
		}
	}
	return all
}

func (i *Installation) tolerates(taint corev1.Taint) bool {
	return slices.ContainsFunc(i.Pod.Tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(klog.Background(), &taint, false)
	})
}
