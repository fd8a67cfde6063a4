package sim

import (
	"bytes"
	"log"
	"log/slog"
)

// CaptureLog redirects the standard logger of package log to logger, at debug level: vcsim writes to it ("managed object not
// found", "does not implement"), which would disturb terminal output. It affects the whole process, so only its owner may call
// it, once. restore reverts it.
func CaptureLog(logger *slog.Logger) (restore func()) {
	out, flags, prefix := log.Writer(), log.Flags(), log.Prefix()
	log.SetOutput(lines{logger})
	log.SetFlags(0)
	log.SetPrefix("")
	return func() {
		log.SetOutput(out)
		log.SetFlags(flags)
		log.SetPrefix(prefix)
	}
}

// lines writes one record for each line; package log writes whole lines.
type lines struct{ logger *slog.Logger }

func (l lines) Write(p []byte) (int, error) {
	l.logger.Debug("simulator", "line", string(bytes.TrimRight(p, "\n")))
	return len(p), nil
}
