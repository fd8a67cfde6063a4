package runtime

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// probeCommand is the first word of a command that stands for a request to a port of the container: pods have no network.
const probeCommand = "\x00probe"

// request is one to a port.
type request struct{ kind, port, path string }

// probed returns the request that a command stands for.
func probed(cmd []string) (request, bool) {
	if len(cmd) != 4 || cmd[0] != probeCommand {
		return request{}, false
	}
	return request{cmd[1], cmd[2], cmd[3]}, true
}

// Adapt changes a pod, as the kubelet gets it, so that nothing of it needs a network: requests of probes and lifecycle hooks become
// commands for [Runtime.ExecSync]. It also notes in an annotation which containers end without a signal.
func Adapt(pod *corev1.Pod) {
	var ends []byte
	add := func(name string) {
		if len(ends) > 0 {
			ends = append(ends, ',')
		}
		ends = append(ends, name...)
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		adapt(c)
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			add(c.Name)
		}
	}
	owner := metav1.GetControllerOf(pod)
	job := owner != nil && owner.Kind == "Job" && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		adapt(c)
		if job {
			add(c.Name)
		}
	}
	if len(ends) > 0 || pod.Annotations[EndsKey] != "" {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[EndsKey] = string(ends)
	}
}

func adapt(c *corev1.Container) {
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p == nil {
			continue
		}
		h := &p.ProbeHandler
		switch {
		case h.HTTPGet != nil:
			h.Exec, h.HTTPGet = httpGet(c, h.HTTPGet), nil
		case h.TCPSocket != nil:
			h.Exec, h.TCPSocket = command(c, "tcp", h.TCPSocket.Port, ""), nil
		case h.GRPC != nil:
			h.Exec, h.GRPC = command(c, "grpc", intstr.FromInt32(h.GRPC.Port), ""), nil
		}
	}
	if c.Lifecycle == nil {
		return
	}
	for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
		switch {
		case h == nil:
		case h.HTTPGet != nil:
			h.Exec, h.HTTPGet = httpGet(c, h.HTTPGet), nil
		case h.TCPSocket != nil:
			h.Exec, h.TCPSocket = command(c, "tcp", h.TCPSocket.Port, ""), nil
		}
	}
}

func httpGet(c *corev1.Container, get *corev1.HTTPGetAction) *corev1.ExecAction {
	return command(c, "http", get.Port, get.Path)
}

func command(c *corev1.Container, kind string, port intstr.IntOrString, path string) *corev1.ExecAction {
	number := port.String()
	if port.Type == intstr.String {
		if i := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.StrVal }); i >= 0 {
			number = strconv.Itoa(int(c.Ports[i].ContainerPort))
		}
	}
	return &corev1.ExecAction{Command: []string{probeCommand, kind, number, path}}
}

// ready returns why the container's programs would not answer; nil if they would.
func (c *container) ready() error {
	c.mu.Lock()
	since := time.Since(c.started)
	c.mu.Unlock()
	if wait := after(c.does.ReadyAfter); since < wait {
		return codeError([]string{"probe"}, 1, fmt.Sprintf("not ready before %s", wait))
	}
	return nil
}

// listens reports whether something listens at a port: all ports that a behavior declares, or, if it declares none, any port of a
// container that is not a shell script.
func (c *container) listens(port string) bool {
	if len(c.does.Ports) > 0 {
		return c.does.Ports[port] != ""
	}
	if c.does.declared {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standIn
}

// answer answers a request as the kubelet's own probe reports it.
func (c *container) answer(p request) (string, error) {
	if n, err := strconv.ParseUint(p.port, 10, 16); err != nil || n == 0 {
		return fmt.Sprintf("couldn't find port: %s", p.port), codeError([]string{"probe"}, 1, "")
	}
	if c.ready() == nil && c.listens(p.port) {
		return "ok", nil
	}
	ip := "127.0.0.1"
	if c.sandbox.ip.IsValid() {
		ip = c.sandbox.ip.String()
	}
	address := net.JoinHostPort(ip, p.port)
	text := fmt.Sprintf("dial tcp %s: connect: connection refused", address)
	switch p.kind {
	case "http":
		text = fmt.Sprintf("Get %q: %s", "http://"+address+p.path, text)
	case "grpc":
		text = fmt.Sprintf("timeout: failed to connect service %q within 1s: connection error: desc = %q", address, "transport: Error while dialing: "+text)
	}
	return text, codeError([]string{"probe"}, 1, "")
}
