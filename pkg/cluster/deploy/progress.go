package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
)

// workload is the state of a DaemonSet or Deployment of ours.
type workload struct {
	kind, namespace, name, part string
	selector                    labels.Selector
	generation                  int64
	// observed is set if the state is of the latest generation.
	observed bool
	// want is the number of pods, updated those of the latest template, ready those of them that are ready.
	want, updated, ready int
	// elsewhere is set if it runs on nodes of another system than Linux.
	elsewhere bool
	// trouble is why pods cannot be created.
	trouble string
	pods    []*corev1.Pod   // set by snapshot, by name
	noVMs   map[string]bool // set by snapshot: nodes that are no VMs
}

func (w workload) String() string {
	return strings.ToLower(w.kind) + " " + w.namespace + "/" + w.name
}

// done reports whether all wanted pods run, as far as there are nodes for them.
func (w workload) done() bool {
	if w.elsewhere && w.want == 0 {
		return w.observed
	}
	return w.observed && w.want > 0 && w.updated >= w.want && w.ready > 0 && w.ready+w.spares() >= w.want
}

// list returns the workloads, sorted.
func (t *tracker) list() []workload {
	var all []workload
	if t.workloads == nil {
		return nil
	}
	sets, _ := t.workloads.Apps().V1().DaemonSets().Lister().List(labels.Everything()) // a lister of a cache never fails
	for _, s := range sets {
		all = append(all, daemonSet(s))
	}
	deployments, _ := t.workloads.Apps().V1().Deployments().Lister().List(labels.Everything())
	for _, s := range deployments {
		all = append(all, deployment(s))
	}
	all = slices.DeleteFunc(all, func(w workload) bool { return w.part != partCCM && w.part != partCSI })
	slices.SortFunc(all, func(a, b workload) int {
		return strings.Compare(a.part+"/"+a.namespace+"/"+a.name, b.part+"/"+b.namespace+"/"+b.name)
	})
	return all
}

func daemonSet(s *appsv1.DaemonSet) workload {
	w := of("DaemonSet", s, s.Spec.Selector)
	w.observed = s.Status.ObservedGeneration >= s.Generation
	w.want, w.updated, w.ready = int(s.Status.DesiredNumberScheduled), int(s.Status.UpdatedNumberScheduled), int(s.Status.NumberReady)
	system := s.Spec.Template.Spec.NodeSelector[corev1.LabelOSStable]
	w.elsewhere = system != "" && system != "linux"
	return w
}

func deployment(s *appsv1.Deployment) workload {
	w := of("Deployment", s, s.Spec.Selector)
	w.observed = s.Status.ObservedGeneration >= s.Generation
	w.want = 1
	if s.Spec.Replicas != nil {
		w.want = int(*s.Spec.Replicas)
	}
	w.updated, w.ready = int(s.Status.UpdatedReplicas), int(s.Status.ReadyReplicas)
	if s.Status.Replicas > s.Status.UpdatedReplicas {
		w.ready = 0 // some ready pods are old ones
	}
	for _, c := range s.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			w.trouble = c.Message
		}
	}
	return w
}

func of(kind string, o metav1.Object, selector *metav1.LabelSelector) workload {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		s = labels.Nothing() // the API server rejects such a selector
	}
	return workload{
		kind: kind, namespace: o.GetNamespace(), name: o.GetName(), part: o.GetLabels()[partLabel],
		selector: s, generation: o.GetGeneration(),
	}
}

func newTime(t time.Time) *metav1.Time {
	at := metav1.NewTime(t)
	return &at
}

// until watches one object until done says so; o is nil once it is gone.
func until(ctx context.Context, from dynamic.ResourceInterface, name string, done func(o *unstructured.Unstructured) bool) error {
	for {
		ended, err := untilOnce(ctx, from, name, done)
		if ended || err != nil {
			return err
		}
	}
}

func untilOnce(ctx context.Context, from dynamic.ResourceInterface, name string, done func(o *unstructured.Unstructured) bool) (bool, error) {
	list, err := from.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return false, err
	}
	var found *unstructured.Unstructured
	for i := range list.Items {
		if list.Items[i].GetName() == name {
			found = &list.Items[i]
		}
	}
	if done(found) {
		return true, nil
	}
	w, err := from.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return false, err
	}
	defer w.Stop()
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return false, ctx.Err() // API servers end watches: list again
			}
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				if err := apierrors.FromObject(e.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
					return false, err
				}
				return false, nil
			}
			if o.GetName() != name {
				continue
			}
			if e.Type == "DELETED" {
				o = nil
			}
			if done(o) {
				return true, nil
			}
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// Established waits until objects of a kind can be created.
func Established(ctx context.Context, from dynamic.ResourceInterface, name string) error {
	return until(ctx, from, name, func(crd *unstructured.Unstructured) bool {
		if crd == nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			m, ok := c.(map[string]any)
			return ok && m["type"] == "Established" && m["status"] == "True"
		})
	})
}

// gone deletes an object and waits until it and its pods are gone.
func gone(ctx context.Context, from dynamic.ResourceInterface, name string) error {
	foreground := metav1.DeletePropagationForeground
	err := from.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &foreground})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	err = until(ctx, from, name, func(o *unstructured.Unstructured) bool { return o == nil })
	if err != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("is not gone yet: %w", err)
	}
	return err
}

// lastLines is how many of a program's last lines are shown.
const lastLines = 5

// WaitError is why the deployment is not ready.
type WaitError struct {
	// Reasons has one entry per cause, with the last lines of a program that ended.
	Reasons []string
	// Err is why the wait ended; nil if waiting would not help.
	Err error
}

// Error returns all reasons.
func (e *WaitError) Error() string {
	text := "not ready: " + strings.Join(e.Reasons, "; ")
	if e.Err != nil {
		text += " (" + e.Err.Error() + ")"
	}
	return text
}

// Unwrap returns why the wait ended.
func (e *WaitError) Unwrap() error { return e.Err }

// Wait returns when everything that this process, or an earlier one if this has deployed nothing, has deployed is ready.
// It calls say whenever what it waits for changes. An error is a [*WaitError] with the reasons. It is returned early when
// waiting does not help: an image that no node has or can pull, a program that always exits, pods without a matching
// node.
func (d *Deployment) Wait(ctx context.Context, say func(string)) error {
	nodes, err := d.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("wait for pods: %w", err)
	}
	if err := d.lookForNoVMs(ctx); err != nil {
		return fmt.Errorf("wait for pods: %w", err)
	}
	said := ""
	var all []reason
	for {
		workloads, changed, err := d.tracker.snapshot(ctx)
		if err != nil {
			return d.waitError(ctx, all, err)
		}
		workloads = d.tracker.current(workloads)
		if len(workloads) == 0 {
			return errors.New("wait for pods: nothing was deployed")
		}
		all = reasons(workloads, len(nodes.Items) > 0)
		if len(all) == 0 {
			return nil
		}
		var final []reason
		for _, r := range all {
			if r.final {
				final = append(final, r)
			}
		}
		if len(final) > 0 {
			return d.waitError(ctx, final, nil)
		}
		if text := all[0].String(); text != said && say != nil {
			said = text
			if more := len(all) - 1; more > 0 {
				text += fmt.Sprintf(" (and %d more)", more)
			}
			say(text)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return d.waitError(ctx, all, context.Cause(ctx))
		case <-d.tracker.ended.Done():
			return errors.New("wait for pods: the deployment was closed")
		}
	}
}

// waitError adds the last log lines of programs that ended, and warning events of pods.
func (d *Deployment) waitError(ctx context.Context, all []reason, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second) // ctx has usually ended
	defer cancel()
	e := &WaitError{Err: why}
	for _, r := range all {
		text := r.String()
		if r.pod != nil {
			if lines := d.lastWords(ctx, r); lines != "" {
				text += "; its last lines: " + lines
			} else if noted := d.noted(ctx, r.pod); noted != "" {
				text += "; " + noted
			}
		}
		e.Reasons = append(e.Reasons, text)
	}
	if len(all) == 0 && why == nil {
		return nil
	}
	return e
}

// lastWords returns the last lines of a container's log, or "".
func (d *Deployment) lastWords(ctx context.Context, r reason) string {
	if r.container == "" {
		return ""
	}
	lines := int64(lastLines)
	data, err := d.client.CoreV1().Pods(r.pod.Namespace).GetLogs(r.pod.Name, &corev1.PodLogOptions{
		Container: r.container, Previous: r.previous, TailLines: &lines,
	}).DoRaw(ctx)
	if err != nil {
		return "" // it has never started, or its node does not respond
	}
	return string(bytes.ReplaceAll(bytes.TrimSpace(data), []byte("\n"), []byte(" | ")))
}

// noted returns the last warning event of a pod, or "".
func (d *Deployment) noted(ctx context.Context, pod *corev1.Pod) string {
	list, err := d.client.CoreV1().Events(pod.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "type=Warning,involvedObject.uid=" + string(pod.UID),
	})
	if err != nil {
		return ""
	}
	var last corev1.Event
	for _, e := range list.Items {
		if e.InvolvedObject.UID == pod.UID && !e.LastTimestamp.Time.Before(last.LastTimestamp.Time) {
			last = e
		}
	}
	if last.Message == "" || strings.Contains(last.Reason, "FailedScheduling") {
		return ""
	}
	return last.Reason + ": " + last.Message
}

// spare reports whether a pod is not needed and cannot become ready. One kind waits for a node that the cluster does not
// have: it must not share a node with another pod of its workload, and another is ready. Upstream's CSI controller has
// three such pods on any control plane, and one is enough. The other kind is on a node that is no VM, as upstream's CSI
// node service runs on all nodes: it finds no VM serial number there.
func (w workload) spare(pod *corev1.Pod) bool {
	if w.kind == "DaemonSet" && w.noVMs[pod.Spec.NodeName] && !readyPod(pod) {
		return true
	}
	return pod.DeletionTimestamp == nil && unscheduledPod(pod) && apart(pod) &&
		slices.ContainsFunc(w.pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil && readyPod(p) })
}

// spares returns the number of spare pods.
func (w workload) spares() (n int) {
	for _, pod := range w.pods {
		if w.spare(pod) {
			n++
		}
	}
	return n
}

func unscheduledPod(pod *corev1.Pod) bool {
	return conditionIs(pod, corev1.PodScheduled, corev1.ConditionFalse)
}

func readyPod(pod *corev1.Pod) bool { return conditionIs(pod, corev1.PodReady, corev1.ConditionTrue) }

func conditionIs(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == status })
}

// apart reports whether a pod must be on another node than the others of its workload.
func apart(pod *corev1.Pod) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	return slices.ContainsFunc(pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		like, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		return err == nil && t.TopologyKey == corev1.LabelHostname && like.Matches(labels.Set(pod.Labels))
	})
}

// lookForNoVMs records which nodes are no VMs: the cluster's own control plane, which exists before the deployment.
func (d *Deployment) lookForNoVMs(ctx context.Context) error {
	nodes, err := d.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: cluster.NoVM})
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, n := range nodes.Items {
		found[n.Name] = true
	}
	d.tracker.starting.Lock()
	defer d.tracker.starting.Unlock()
	d.tracker.noVMs = found
	return nil
}
