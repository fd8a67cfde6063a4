package manifests

import "testing"

func TestLint(t *testing.T) { lintClean(t, chartDir, "kube-system") }
