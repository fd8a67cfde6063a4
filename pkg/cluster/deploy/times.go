package deploy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func newTime(t time.Time) *metav1.Time {
	at := metav1.NewTime(t)
	return &at
}
