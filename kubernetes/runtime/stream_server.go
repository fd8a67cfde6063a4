//go:build !before_v1_36

package runtime

import (
	"net/url"

	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

type (
	streamServer = streaming.Server
	terminalSize = remotecommand.TerminalSize
)

func newStreamServer(base *url.URL, r streaming.Runtime) (streamServer, error) {
	config := streaming.DefaultConfig
	config.BaseURL = base
	return streaming.NewServer(config, r)
}
