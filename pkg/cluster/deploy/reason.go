package deploy

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// reason is why a workload is not ready yet.
type reason struct {
	what string // "daemonset kube-system/x", "pod kube-system/y, container z"
	why  string
	// final is set if waiting does not help.
	final bool
	// pod and container have the log with the details; previous selects the process before.
	pod       *corev1.Pod
	container string
	previous  bool
}

func (r reason) String() string { return r.what + ": " + r.why }

const (
	// patience is how long pulling an image may fail: the registry may be temporarily unreachable.
	patience = 40 * time.Second
	// crashes is the number of restarts after which a program counts as failing.
	crashes = 4
)

// reasons returns why workloads are not ready.
func reasons(all []workload, nodes bool) []reason {
	var out []reason
	for _, w := range all {
		if w.done() {
			continue
		}
		before := len(out)
		for _, pod := range w.pods {
			if pod.DeletionTimestamp == nil && !w.spare(pod) {
				out = append(out, podReasons(pod)...)
			}
		}
		for i := before; i < len(out); i++ { // failures of a pod that is about to be replaced do not count
			out[i].final = out[i].final && w.observed && w.updated >= w.want
		}
		if len(out) == before {
			out = append(out, w.reason(nodes))
		}
	}
	return out
}

// reason is for a workload without pods, or without a problem in any.
func (w workload) reason(nodes bool) reason {
	r := reason{what: w.String()}
	switch {
	case w.trouble != "":
		r.why = "its pods are rejected: " + w.trouble
	case !w.observed:
		r.why = "the cluster's controller manager has not observed it yet, and may be down"
	case w.want == 0 && nodes:
		r.why = "no node matches its pods: it needs nodes of the control plane (label " + controlPlane + "), and none has the label, or each has a taint that its pods do not tolerate"
		r.final = true
	case w.want == 0:
		r.why = "the cluster has no node yet"
	case w.updated < w.want:
		r.why = fmt.Sprintf("%d of %d pods are updated", w.updated, w.want)
	default:
		r.why = fmt.Sprintf("%d of %d pods are ready", w.ready, w.want)
	}
	return r
}

// podReasons returns why a pod is not ready, or nothing.
func podReasons(pod *corev1.Pod) []reason {
	name := "pod " + pod.Namespace + "/" + pod.Name
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return []reason{{what: name, why: "no node matches: " + unschedulable(c.Message), pod: pod}}
		}
	}
	if pod.Spec.NodeName != "" {
		name += " on node " + pod.Spec.NodeName
	}
	if pod.Status.Phase == corev1.PodFailed {
		return []reason{{what: name, why: "it failed: " + pod.Status.Reason + " " + pod.Status.Message, pod: pod}}
	}
	var out []reason
	for _, s := range pod.Status.ContainerStatuses {
		if s.Ready {
			continue
		}
		r := reason{what: name + ", container " + s.Name, pod: pod, container: s.Name}
		switch {
		case s.State.Waiting != nil:
			r.waits(pod, s)
		case s.State.Terminated != nil:
			r.why = fmt.Sprintf("its process has ended with exit code %d (%s)", s.State.Terminated.ExitCode, s.State.Terminated.Reason)
		case s.State.Running != nil:
			r.why = "it runs but is not ready"
			if s.RestartCount > 0 {
				r.why += fmt.Sprintf(", after %d restarts", s.RestartCount)
			}
		default:
			r.why = "it is being created"
		}
		out = append(out, r)
	}
	if len(pod.Status.ContainerStatuses) == 0 {
		out = append(out, reason{what: name, why: "the kubelet of its node has not started it yet", pod: pod})
	}
	return out
}

// waits sets the reason from a waiting container.
func (r *reason) waits(pod *corev1.Pod, s corev1.ContainerStatus) {
	w := s.State.Waiting
	local := strings.HasPrefix(s.Image, "localhost/")
	switch w.Reason {
	case "InvalidImageName":
		r.why, r.final = fmt.Sprintf("%q is no valid image name", s.Image), true
	case "ErrImageNeverPull":
		r.why, r.final = missing(s.Image), true
	case "ErrImagePull", "ImagePullBackOff":
		r.why = missing(s.Image)
		if !local {
			r.why += ": " + w.Message
		}
		r.final = local || pod.Status.StartTime != nil && time.Since(pod.Status.StartTime.Time) > patience
	case "CrashLoopBackOff":
		r.why = fmt.Sprintf("its program exits on start, %d times so far", s.RestartCount+1)
		if last := s.LastTerminationState.Terminated; last != nil {
			r.why += fmt.Sprintf(", with exit code %d", last.ExitCode)
		}
		r.final, r.previous = s.RestartCount >= crashes, true
	default:
		r.why = strings.TrimSpace(w.Reason + " " + w.Message)
		if w.Reason == "ContainerCreating" || w.Reason == "PodInitializing" {
			r.why = "it is being created"
		}
	}
}

// missing explains what to do about an image that a node does not have.
func missing(image string) string {
	return fmt.Sprintf("its node does not have image %s and cannot pull it; build it, or save it elsewhere as an archive, and load it: "+
		"kind load image-archive FILE, or on the node ctr -n k8s.io images import FILE", image)
}

// unschedulable returns the scheduler's message, without the part about preemption.
func unschedulable(message string) string {
	message, _, _ = strings.Cut(message, " preemption:")
	if strings.Contains(message, "node.cloudprovider.kubernetes.io/uninitialized") {
		message += " (nodes have that taint until the cloud controller manager has found their VMs)"
	}
	return message
}
