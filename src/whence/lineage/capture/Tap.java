package whence.lineage;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.CollectionAccumulator;
import org.apache.spark.util.TaskCompletionListener;

/**
 * A function of Spark SQL that hands its number back, and notes by which reference it came.
 *
 * Notes of a task are one element of an accumulator, added when the task is complete, so that
 * Spark counts those of successful tasks alone. Janino compiles this when a driver first samples;
 * it knows neither generics nor lambdas.
 */
public final class Tap implements UDF2, TaskCompletionListener {
    private static final int NOTE = 24;
    private static final int MOST = 1 << 24;

    private final CollectionAccumulator told;
    private final int which;
    private transient ByteBuffer held;

    public Tap(SparkContext context) {
        this(context.collectionAccumulator(), 0);
    }

    // A number given as a literal would be in the code that Spark generates, and make it new code.
    private Tap(CollectionAccumulator told, int which) {
        this.told = told;
        this.which = which;
    }

    // What makes frames is here, since each call from Python costs as much as Spark's own work.

    /** The frame with a column of its rows' numbers, null for those that are not followed. */
    public Dataset numbered(Dataset frame, Column number, String name, long share) {
        Column given = number == null ? functions.monotonically_increasing_id() : number;
        Column every = functions.col(name);
        Column hash = functions.xxhash64(new Column[] {every});
        Column followed = functions.shiftrightunsigned(hash, 33).lt(Long.valueOf(share));
        return frame.withColumn(name, given).withColumn(name, functions.when(followed, every));
    }

    /** The frame with a column of the hash of keys, in rows that come from one that is followed. */
    public Dataset grouped(Dataset frame, List keys, String references, String name, int first) {
        return frame.withColumn(name, noted(hash(frame, keys), references, first));
    }

    /** The frame without hidden columns, whose rows are noted by the positions in another column. */
    public Dataset written(Dataset frame, String hidden, String references, String name, int first) {
        Dataset numbered = frame.withColumn(name, functions.monotonically_increasing_id());
        Column position = functions.col("`" + name.replace("`", "``") + "`");
        return numbered.filter(passed(position, references, first)).drop(hidden.split(","));
    }

    // As `key_hash` of columns.py has it, with the reasons.
    private static Column hash(Dataset frame, List keys) {
        if (keys.isEmpty()) {
            return functions.lit(Long.valueOf(0));
        }
        Column[] given = new Column[keys.size()];
        for (int i = 0; i < given.length; i++) {
            given[i] = (Column) keys.get(i);
        }
        Map options = Collections.singletonMap("ignoreNullFields", "false");
        StructField[] fields = frame.select(given).schema().fields();
        Column[] parts = new Column[given.length > 1 ? 2 * given.length : 1];
        for (int i = 0; i < given.length; i++) {
            DataType type = fields[i].dataType();
            if (type instanceof ArrayType || type instanceof StructType || type instanceof MapType) {
                Column whole = functions.struct(new Column[] {given[i]});
                given[i] = functions.to_json(whole, options);
            }
            parts[given.length > 1 ? 2 * i : 0] = given[i];
            if (given.length > 1) {
                parts[2 * i + 1] = given[i].isNull();
            }
        }
        return functions.shiftrightunsigned(functions.xxhash64(parts), 1);
    }

    /** The number where one of the hidden columns is not null, which is noted; null elsewhere. */
    private Column noted(Column number, String references, int first) {
        Column[] columns = columns(references);
        Column out = number;
        for (int i = 0; i < columns.length; i++) {
            Tap tap = new Tap(told, first + i);
            UserDefinedFunction function = functions.udf((UDF2) tap, DataTypes.LongType);
            function = function.asNondeterministic().withName("whence_tap");
            out = function.apply(new Column[] {out, columns[i]});
        }
        return functions.when(functions.coalesce(columns).isNotNull(), out);
    }

    /** A condition that all rows fulfil, whose evaluation notes them. */
    private Column passed(Column number, String references, int first) {
        Column none = functions.coalesce(columns(references)).isNull();
        return noted(number, references, first).isNotNull().or(none);
    }

    private static Column[] columns(String names) {
        String[] each = names.split(",");
        Column[] out = new Column[each.length];
        for (int i = 0; i < each.length; i++) {
            out[i] = functions.col(each[i]);
        }
        return out;
    }

    public synchronized Object call(Object number, Object reference) {
        if (number == null || reference == null) {
            return number;
        }
        // Spark computes frames of the driver's own rows while it plans, outside of any task.
        TaskContext task = TaskContext.get();
        if (held != null && held.remaining() < NOTE) {
            if (held.capacity() < MOST) {
                int room = 2 * held.capacity();
                held = ByteBuffer.allocate(room).put(held.array(), 0, held.position());
            } else {
                tell();
            }
        }
        if (held == null) {
            held = ByteBuffer.allocate(1 << 12);
            held.putInt(task == null ? 0 : task.partitionId());
            held.putInt(task == null ? 0 : task.attemptNumber());
            if (task != null) {
                task.addTaskCompletionListener(this);
            }
        }
        held.putLong(which);
        held.putLong(((Long) number).longValue());
        held.putLong(((Long) reference).longValue());
        if (task == null) {
            tell();
        }
        return number;
    }

    public synchronized void onTaskCompletion(TaskContext task) {
        tell();
    }

    private void tell() {
        if (held != null) {
            told.add(Arrays.copyOf(held.array(), held.position()));
            held = null;
        }
    }

    /** Write all notes since the last time: for each task the length in bytes and what it told. */
    public int taken(String path) throws IOException {
        List found;
        synchronized (told) {
            found = told.value();
            told.reset();
        }
        if (!found.isEmpty()) {
            DataOutputStream out =
                new DataOutputStream(new BufferedOutputStream(new FileOutputStream(path)));
            try {
                for (Iterator each = found.iterator(); each.hasNext();) {
                    byte[] notes = (byte[]) each.next();
                    out.writeLong(notes.length);
                    out.write(notes);
                }
            } finally {
                out.close();
            }
        }
        return found.size();
    }
}
