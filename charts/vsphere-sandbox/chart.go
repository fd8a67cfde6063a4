// Package chart holds the Helm chart beside it, so that "vsphere-sandbox up --cluster existing" installs what Helm would.
//
//	objects, err := existing.Render(chart.Files(), values)
//
// Floor 0.
package chart

import "embed"

//go:embed Chart.yaml values.yaml values.schema.json files templates templates/_names.tpl
var files embed.FS

// Files are the chart's, by their paths in it. They cannot be changed.
func Files() embed.FS { return files }
