package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lastLines is how many of a program's last lines are shown.
const lastLines = 5

// WaitError says why what was deployed is not ready.
type WaitError struct {
	// Reasons say it, one each, with the last lines of a program that ended.
	Reasons []string
	// Err is why there was no more waiting: nil where waiting would not help.
	Err error
}

// Error has all reasons.
func (e *WaitError) Error() string {
	text := "not ready: " + strings.Join(e.Reasons, "; ")
	if e.Err != nil {
		text += " (" + e.Err.Error() + ")"
	}
	return text
}

// Unwrap returns why there was no more waiting.
func (e *WaitError) Unwrap() error { return e.Err }

// Wait returns when everything that this process has deployed is ready, or an earlier one if this has deployed nothing. It tells say what it is waiting for, whenever that changes. An
// error, of type [*WaitError], has the reasons; it comes early when waiting longer would not help: an image that no node has
// and none can pull, a program that ends whenever it is started, pods for which there is no node.
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
		workloads, changed, err := d.tracker.picture(ctx)
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

// waitError has the last words of programs that ended, and what the cluster has noted of pods.
func (d *Deployment) waitError(ctx context.Context, all []reason, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second) // ctx has ended, as a rule
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

// lastWords are the last lines of a container's log, "" when there are none.
func (d *Deployment) lastWords(ctx context.Context, r reason) string {
	if r.container == "" {
		return ""
	}
	lines := int64(lastLines)
	data, err := d.client.CoreV1().Pods(r.pod.Namespace).GetLogs(r.pod.Name, &corev1.PodLogOptions{
		Container: r.container, Previous: r.previous, TailLines: &lines,
	}).DoRaw(ctx)
	if err != nil {
		return "" // it has never begun, or its node does not answer
	}
	return string(bytes.ReplaceAll(bytes.TrimSpace(data), []byte("\n"), []byte(" | ")))
}

// noted is the last warning about a pod, "" when there is none.
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
