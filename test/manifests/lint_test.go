package manifests

import (
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
)

// `helm lint` has nothing to say but that there is no icon.
func TestLint(t *testing.T) {
	for _, m := range lint.RunAll(chartDir, nil, "kube-system").Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}
