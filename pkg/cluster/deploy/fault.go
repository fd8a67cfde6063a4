package deploy

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrNoExec is returned for what can only be done inside a node, on grounds without access to nodes.
var ErrNoExec = errors.New("the sandbox cannot run commands in the nodes of this cluster")

// containerdNamespace is containerd's namespace for Kubernetes' containers.
const containerdNamespace = "k8s.io"

// Kill ends a component as a crash does: its process is killed, and Kubernetes restarts it with a back-off. On clusters
// without access to nodes it deletes the pod without a grace period instead; for the CSI controller this ends all of its
// containers.
func (d *Deployment) Kill(ctx context.Context, component string) error {
	c, err := d.component(ctx, component)
	if err != nil {
		return fmt.Errorf("kill: %w", err)
	}
	if d.exec == nil {
		now := int64(0)
		return d.deletePod(ctx, c, &now)
	}
	return d.task(ctx, c, "kill", "-s", "KILL")
}

// Restart ends a component properly and starts it again. A component that is a whole pod is replaced, without a back-off. A
// container among others is terminated; on clusters without access to nodes its whole pod is replaced.
func (d *Deployment) Restart(ctx context.Context, component string) error {
	c, err := d.component(ctx, component)
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	pod, err := d.client.CoreV1().Pods(c.Namespace).Get(ctx, c.Pod, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("restart %s: %w", component, err)
	}
	if d.exec == nil || len(pod.Spec.Containers) == 1 {
		return d.deletePod(ctx, c, nil)
	}
	return d.task(ctx, c, "kill", "-s", "TERM")
}

// Pause freezes a component until Resume. The kubelet restarts it after enough failed probes (about 70 seconds with the
// sandbox's manifests, never without probes).
func (d *Deployment) Pause(ctx context.Context, component string) error {
	return d.inNode(ctx, component, "pause")
}

// Resume ends [Deployment.Pause].
func (d *Deployment) Resume(ctx context.Context, component string) error {
	return d.inNode(ctx, component, "resume")
}

func (d *Deployment) inNode(ctx context.Context, component, verb string) error {
	if d.exec == nil {
		return fmt.Errorf("%s %s: %w, and the Kubernetes API cannot do that to a pod", verb, component, ErrNoExec)
	}
	c, err := d.component(ctx, component)
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return d.task(ctx, c, verb)
}

// task runs "ctr task" for the process of a component.
func (d *Deployment) task(ctx context.Context, c Change, verb string, flags ...string) error {
	if c.State != Running || c.ContainerID == "" {
		return fmt.Errorf("%s %s: it does not run: it is %s %s", verb, c.Component, c.State, c.Reason)
	}
	cmd := append([]string{"ctr", "--namespace", containerdNamespace, "task", verb}, flags...)
	if _, err := d.exec(ctx, c.Node, append(cmd, c.ContainerID)...); err != nil {
		return fmt.Errorf("%s %s on node %s: %w", verb, c.Component, c.Node, err)
	}
	return nil
}

func (d *Deployment) deletePod(ctx context.Context, c Change, grace *int64) error {
	if err := d.client.CoreV1().Pods(c.Namespace).Delete(ctx, c.Pod, metav1.DeleteOptions{GracePeriodSeconds: grace}); err != nil {
		return fmt.Errorf("%s: delete pod %s/%s: %w", c.Component, c.Namespace, c.Pod, err)
	}
	return nil
}
