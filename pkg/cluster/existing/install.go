package existing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// fieldManager owns the fields of applied objects.
const fieldManager = installer

// Secret is the name of the Secret that the chart's feed.secretName has by default.
const Secret = "vsphere-sandbox-feed"

// Feed has the credentials of the stream of machines: PEM, and the token that clients must send.
type Feed struct{ CA, Cert, Key, Token []byte }

// FeedHost returns the DNS name of the stream for light nodes, which the certificate needs.
func FeedHost(name string) string { return "sandbox." + NamespaceOf(name) + ".svc" }

// installationObjects returns the objects of an installation that are not in the chart: the namespace, and the Secrets.
func installationObjects(name string, f Feed) []*unstructured.Unstructured {
	labels := map[string]any{}
	for key, value := range chartLabels(name) {
		labels[key] = value
	}
	return []*unstructured.Unstructured{
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": NamespaceOf(name), "labels": labels},
		}},
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": string(corev1.SecretTypeOpaque),
			"metadata": map[string]any{"name": Secret, "namespace": NamespaceOf(name), "labels": labels},
			"stringData": map[string]any{
				"ca.crt": string(f.CA), "tls.crt": string(f.Cert), "tls.key": string(f.Key), "token": string(f.Token),
			},
		}},
	}
}

// atOnce is the number of objects that are applied in parallel.
const atOnce = 8

// Install applies the namespace of a sandbox, its Secret and the chart's objects, in the order of their dependencies.
// After a failure [Cluster.Remove] removes what was applied.
func (c *Cluster) Install(ctx context.Context, name string, f Feed, objects []*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(c.REST())
	if err != nil {
		return err
	}
	return c.explain(ctx, install(ctx, client, append(installationObjects(name, f), objects...)))
}

func install(ctx context.Context, client dynamic.Interface, objects []*unstructured.Unstructured) error {
	for len(objects) > 0 {
		n := 1
		for n < len(objects) && turn(objects[n].GetKind()) == turn(objects[0].GetKind()) {
			n++
		}
		g, each := errgroup.WithContext(ctx)
		g.SetLimit(atOnce)
		for _, o := range objects[:n] {
			g.Go(func() error {
				if err := apply(each, client, o); err != nil {
					return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		objects = objects[n:]
	}
	return nil
}

func apply(ctx context.Context, client dynamic.Interface, o *unstructured.Unstructured) error {
	resource, err := resourceOf(o.GroupVersionKind())
	if err != nil {
		return err
	}
	var into dynamic.ResourceInterface = client.Resource(resource)
	if ns := o.GetNamespace(); ns != "" {
		into = client.Resource(resource).Namespace(ns)
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	_, err = into.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}

// PortForward forwards a port on a pod's loopback address, which is only reachable by port-forward through the API server.
type PortForward struct {
	// Port is the port on 127.0.0.1.
	Port int
	// Network and Address are those for net.Dial: "unix" and the control socket, or "tcp" and a vCenter's address.
	Network, Address string
}

// Expose opens the doors until closeAll is called, which waits for the end of all connections.
func Expose(ctx context.Context, doors ...PortForward) (closeAll func(), err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var open sync.WaitGroup
	closeAll = func() { cancel(); open.Wait() }
	for _, d := range doors {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(d.Port)))
		if err != nil {
			closeAll()
			return nil, fmt.Errorf("port-forwards to %s: %w", d.Address, err)
		}
		open.Go(func() {
			var to net.Dialer
			dial := func(ctx context.Context) (net.Conn, error) { return to.DialContext(ctx, d.Network, d.Address) }
			_ = Forward(ctx, l, dial, nil) // Accept only fails if the process is out of descriptors
		})
	}
	return closeAll, nil
}

// Forward accepts connections and forwards each to one that dial makes, until ctx ends. It closes the listener, and
// returns after the last connection. Errors of dial go to trouble, which may be nil.
func Forward(ctx context.Context, l net.Listener, dial func(context.Context) (net.Conn, error), trouble func(error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // Accept then fails
	defer stop()
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	for {
		near, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		open.Go(func() {
			far, err := dial(ctx)
			if err != nil {
				_ = near.Close() // the client sees the end
				if trouble != nil && ctx.Err() == nil {
					trouble(err)
				}
				return
			}
			splice(ctx, near, far)
		})
	}
}

// splice copies in both directions until both sides have ended, one breaks, or ctx ends.
func splice(ctx context.Context, near, far net.Conn) {
	end := func() { _, _ = near.Close(), far.Close() } // of connections that may be broken
	stop := context.AfterFunc(ctx, end)
	defer stop()
	defer end()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			if _, err := io.Copy(way[1], way[0]); err != nil {
				end()
				return
			}
			if half, ok := way[1].(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
				end()
			}
		})
	}
	both.Wait()
}

func parseVersion(raw []byte) (*version.Info, error) {
	v := &version.Info{}
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, err
	}
	if v.GitVersion == "" {
		return nil, errors.New("its response has no version")
	}
	return v, nil
}

// ControlPort is the default of the chart's sandbox.controlPort: the port-forward port of the pod's control API.
const ControlPort = 10280

// ReleaseOf returns the Helm release of a sandbox.
func ReleaseOf(name string) Release { return Release{Name: name, Namespace: NamespaceOf(name)} }

// look is the poll interval.
const look = 500 * time.Millisecond

// hopeless is the time after which a pod in a failed state is given up.
const hopeless = 20 * time.Second

// Pod waits until the sandbox's pod runs, and returns its name. It calls say whenever what it waits for changes. A pod
// that cannot run, because its image is missing or it exits repeatedly, is an [*coded.Error] with the reason.
func (c *Cluster) Pod(ctx context.Context, name string, say func(string)) (string, error) {
	var last string
	var stuck time.Time
	for tick := time.NewTicker(look); ; {
		pod, err := c.newestPod(ctx, name)
		if err != nil {
			return "", c.explain(ctx, err)
		}
		if restarts(pod) > secondChance {
			tick.Stop()
			return "", endsAgain(pod)
		}
		if pod != nil && running(pod) {
			tick.Stop()
			return pod.Name, nil
		}
		waiting, failed := state(pod)
		if waiting != last {
			say(waiting)
			last = waiting
		}
		switch {
		case failed == nil:
			stuck = time.Time{}
		case stuck.IsZero():
			stuck = time.Now()
		case time.Since(stuck) > hopeless:
			tick.Stop()
			return "", failed
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return "", &coded.Error{
				Code: CodePod, Message: "the sandbox's pod does not run: waiting for " + waiting, Err: context.Cause(ctx),
				Try: "kubectl -n " + NamespaceOf(name) + " get pods",
			}
		}
	}
}

// newestPod returns the sandbox's pod, the newer one during a replacement, or nil.
func (c *Cluster) newestPod(ctx context.Context, name string) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	list, err := c.client.CoreV1().Pods(NamespaceOf(name)).List(ctx, metav1.ListOptions{
		LabelSelector: selectChart(name) + ",app.kubernetes.io/component=sandbox",
	})
	if err != nil {
		return nil, err
	}
	var newest *corev1.Pod
	for i, p := range list.Items {
		if p.DeletionTimestamp == nil && (newest == nil || newest.CreationTimestamp.Before(&p.CreationTimestamp)) {
			newest = &list.Items[i]
		}
	}
	return newest, nil
}

func running(p *corev1.Pod) bool {
	return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil
}

// secondChance is the number of permitted container restarts while the sandbox boots: once, as when its new permissions
// are not effective yet.
const secondChance = 1

func endsAgain(p *corev1.Pod) *coded.Error {
	why := ""
	if t := p.Status.ContainerStatuses[0].LastTerminationState.Terminated; t != nil {
		why = fmt.Sprintf(" with exit status %d", t.ExitCode)
	}
	return &coded.Error{
		Code: CodePod, Message: "the sandbox exits repeatedly" + why,
		Try: fmt.Sprintf("kubectl -n %s logs %s --previous", p.Namespace, p.Name),
	}
}

func restarts(p *corev1.Pod) (n int32) {
	if p == nil {
		return 0
	}
	for _, s := range p.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}

// state returns what a pod waits for, and a non-nil failed if waiting does not help.
func state(p *corev1.Pod) (waiting string, failed *coded.Error) {
	if p == nil {
		return "the Deployment to create a pod", nil
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			text := "a node for pod " + p.Name + ": " + c.Message
			return text, &coded.Error{Code: CodePod, Message: "the cluster has no room for the sandbox's pod: " + c.Message, Try: "free resources, or request less: the chart's sandbox.resources"}
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		w := s.State.Waiting
		if w == nil {
			continue
		}
		switch w.Reason {
		case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ErrImageInspect", "CreateContainerConfigError", "CreateContainerError":
			return fmt.Sprintf("image %s: %s", s.Image, w.Reason), &coded.Error{
				Code: CodeImage, Message: fmt.Sprintf("image %s: %s: %s", s.Image, w.Reason, shorten.FirstLine(w.Message)),
				Try: "--image REGISTRY/vsphere-sandbox:TAG   # one that the cluster's nodes can pull\nkind load image-archive FILE   # for a kind cluster",
			}
		case "CrashLoopBackOff":
			return "the sandbox, which exited and is restarted", endsAgain(p)
		}
		return fmt.Sprintf("pod %s: %s", p.Name, w.Reason), nil
	}
	return "pod " + p.Name, nil
}

// LastLog returns the last log lines of the sandbox's pod, of the previous container if it was restarted, or "".
func (c *Cluster) LastLog(ctx context.Context, name string, lines int64) string {
	pod, err := c.newestPod(ctx, name)
	if err != nil || pod == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for _, previous := range []bool{true, false} {
		text, err := c.client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: &lines, Previous: previous}).DoRaw(ctx)
		if err == nil && len(text) > 0 {
			return string(text)
		}
	}
	return ""
}
