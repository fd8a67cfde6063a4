package existing

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// What keeps a pod from running is reported, and becomes an error after a while if waiting does not help.
func TestPod(t *testing.T) {
	unscheduled := sandboxPod("a", corev1.ContainerState{})
	unscheduled.Status = corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available: 3 Insufficient memory.",
	}}}
	crashed := sandboxPod("a", waiting("CrashLoopBackOff", ""))
	crashed.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2}
	for name, tc := range map[string]struct {
		pod        *corev1.Pod
		code, says string
	}{
		"no image":     {sandboxPod("a", waiting("ImagePullBackOff", "no such host\nmore")), CodeImage, "image sandbox:v1: ImagePullBackOff: no such host"},
		"never pulled": {sandboxPod("a", waiting("ErrImageNeverPull", "")), CodeImage, "ErrImageNeverPull"},
		"no room":      {unscheduled, CodePod, "3 Insufficient memory"},
		"crashes":      {crashed, CodePod, "exits repeatedly with exit status 2"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, err := holding(tc.pod).Pod(t.Context(), "mine", func(string) {})
				if codeOf(t, err) != tc.code || !strings.Contains(err.Error(), tc.says) || time.Since(begin) < hopeless {
					t.Errorf("after %s: %v", time.Since(begin), err)
				}
			})
		})
	}
}

func TestPodComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := holding()
		var said []string
		pods := c.client.CoreV1().Pods(NamespaceOf("mine"))
		go func() {
			time.Sleep(3 * time.Second)
			p := sandboxPod("a", waiting("ContainerCreating", ""))
			if _, err := pods.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
			time.Sleep(3 * time.Second)
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
			if _, err := pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}()
		pod, err := c.Pod(t.Context(), "mine", func(text string) { said = append(said, text) })
		if err != nil || pod != "a" || strings.Join(said, "; ") != "the Deployment to create a pod; pod a: ContainerCreating" {
			t.Errorf("%q, %v, said %q", pod, err, said)
		}
	})
}
