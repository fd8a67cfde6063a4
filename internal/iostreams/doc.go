// Package iostreams is where a command reads and writes: its input, output and error streams, with what is known of the
// terminal behind them. Commands get a [Streams] instead of reaching for package os, so that tests can hand them buffers.
//
// Floor 0: it imports nothing of this module.
package iostreams
