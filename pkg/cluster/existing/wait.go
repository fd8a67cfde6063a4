package existing

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

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

// Words returns the last log lines of the sandbox's pod, of the previous container if it was restarted, or "".
func (c *Cluster) Words(ctx context.Context, name string, lines int64) string {
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
