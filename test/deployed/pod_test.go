package deployed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// grace is the time from TERM to KILL, which pods have when their manifest does not say.
const grace = 30 * time.Second

// pod is one of the DaemonSet's, whose container is a process. Its methods are called from the test's goroutine.
type pod struct {
	*corev1.Pod
	w         *world
	container corev1.Container
	dir       string
	ports     map[string]string // of this machine, by address on the node
	spec      child.Spec

	process *child.Child
	ended   chan error // nil for exit status 0
}

// start runs the container, and ends it with the test.
func (p *pod) start() {
	ended := make(chan error, 1)
	p.ended = ended
	p.process = child.Start(p.spec, func(c child.Change) {
		if c.State == child.Exited {
			ended <- c.Err
		}
	})
	p.w.t.Cleanup(func() {
		if err := p.process.Kill(); err != nil {
			p.w.t.Error(err)
		}
		if p.w.t.Failed() {
			log, _ := os.ReadFile(p.spec.LogPath)
			p.w.t.Logf("%s:\n%s", p.Name, lab.Tail(log, 6000))
		}
	})
}

// terminate ends it as a kubelet does, and returns how long that took and how it exited.
func (p *pod) terminate() (time.Duration, error) {
	began := time.Now()
	pid := p.process.PID()
	if pid == 0 {
		return 0, errors.New("it does not run")
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return 0, err
	}
	select {
	case err := <-p.ended:
		return time.Since(began), err
	case <-time.After(grace):
		return grace, errors.New("it runs on")
	}
}

// ask is a probe as it is written: what was answered, and an error unless that is a success.
func (p *pod) ask(probe *corev1.Probe) (string, error) {
	get := probe.HTTPGet
	address, ok := p.ports[net.JoinHostPort(get.Host, get.Port.String())]
	if !ok {
		return "", fmt.Errorf("probe of %s:%s: no argument has the container listen there", get.Host, get.Port.String())
	}
	ctx, cancel := context.WithTimeout(p.w.t.Context(), time.Duration(probe.TimeoutSeconds)*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+get.Path, nil)
	if err != nil {
		return "", err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode < 200 || res.StatusCode >= 400) {
		err = fmt.Errorf("%s: %s", res.Status, body)
	}
	return string(body), err
}

// await asks until the answer is want.
func (p *pod) await(probe *corev1.Probe, want string, atMost time.Duration) {
	p.w.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond) // an HTTP endpoint must be polled
	defer tick.Stop()
	for late := time.After(atMost); ; {
		got, err := p.ask(probe)
		if err == nil && got == want {
			return
		}
		select {
		case <-tick.C:
		case err := <-p.ended:
			p.w.t.Fatalf("%s: the process ended: %v", p.Name, err)
		case <-late:
			p.w.t.Fatalf("%s: %s answers %q, %v; want %q", p.Name, probe.HTTPGet.Path, got, err, want)
		}
	}
}

// report sets the pod's Ready condition, as the kubelet does when the probe succeeds.
func (p *pod) report() {
	p.w.t.Helper()
	now := p.Pod.DeepCopy()
	now.Status.Phase = corev1.PodRunning
	now.Status.Conditions = append(now.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	if _, err := p.w.Client.CoreV1().Pods(p.Namespace).UpdateStatus(p.w.t.Context(), now, metav1.UpdateOptions{}); err != nil {
		p.w.t.Error(err)
	}
}
